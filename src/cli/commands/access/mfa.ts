import type { Command } from 'commander'
import { MoorageError } from '../../../../sdk/client.ts'
import { takesStore, yesOption } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import { note, print, printDone, printJson, printRecord, success } from '../../terminal/output.ts'
import { ask, confirm } from '../../terminal/prompts.ts'
import { isInteractive, type World } from '../../world.ts'

export function mfa(command: Command, world: World): void {
  takesStore(command.command('enrol'))
    .description('Give a key a second factor. Its otpauth:// address is all that goes to stdout')
    .argument('<key_id>')
    .action(async (id: string, options: Common) => {
      await withClientOrStore(world, options, async (client) => {
        const factor = await client.mfa.enrol(id, options).catch((error: unknown) => {
          throw options.otp === undefined && isCodeMissing(error) ? firstFactor(error) : error
        })
        if (options.json) return printJson(world, factor)
        // In a script stderr may end up in a log, so secrets go to stdout only.
        const secret = isInteractive(world) ? `, or type the secret ${factor.secret}` : ''
        note(world, `Add this to an authenticator app${secret}`)
        print(world, factor.uri)
        if (!isInteractive(world))
          return note(world, `Then: moorage mfa confirm ${id} <code>${options.local ? ' --local' : ''}`)
        const code = await ask(world, { message: 'The code it shows now', missing: 'Give the code' })
        await client.mfa.confirm(id, code)
        success(world, `${id} has a second factor`)
      })
    })

  takesStore(command.command('confirm'))
    .description('Put a new second factor in force with its first code')
    .argument('<key_id>')
    .argument('<code>', 'six digits')
    .action(async (id: string, code: string, options: Common) => {
      const factor = await withClientOrStore(world, options, (client) => client.mfa.confirm(id, code, options))
      printDone(world, factor, options, `${id} has a second factor`)
    })

  takesStore(command.command('status'))
    .description('Whether a key has a second factor')
    .argument('<key_id>')
    .action(async (id: string, options: Common) => {
      printRecord(world, await withClientOrStore(world, options, (client) => client.mfa.get(id)), options)
    })

  takesStore(command.command('remove'))
    .description("Take a key's second factor away")
    .argument('<key_id>')
    .addOption(yesOption())
    .action(async (id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Remove the second factor of ${id}? It can do nothing protected then.`, options)
      const removed = await withClientOrStore(world, options, (client) => client.mfa.remove(id, options))
      printDone(world, removed, options, `${id} has no second factor`)
    })
}

function isCodeMissing(error: unknown): error is MoorageError {
  return error instanceof MoorageError && error.code === 'mfa_required'
}

/** Through the service, only a key with a factor can give one to a key. A stolen key cannot give one to itself. */
function firstFactor(cause: MoorageError): Failure {
  const message = 'This needs --local, or the one-time code (--otp) of a key that has a second factor already'
  const hint = "  A first factor is made on the server's machine: `moorage mfa enrol <key_id> --local`"
  return new Failure(EXIT.auth, message, hint, cause)
}
