import { MoorageError } from '../../../../sdk/client.ts'
import { EXIT, Failure } from '../../failure.ts'
import { storeCommands } from '../../from-operations/operation-command.ts'
import { note, print, success } from '../../terminal/output.ts'
import { ask } from '../../terminal/prompts.ts'
import { isInteractive } from '../../world.ts'

export const mfa = storeCommands('mfa', {
  enrolFactor: {
    about: 'Set up a second factor for a key. Prints only the otpauth:// URL to stdout',
    call: (client, { params, options }) =>
      client.mfa.enrol(params['key_id'] ?? '', options).catch((error: unknown) => {
        throw options.otp === undefined && isCodeMissing(error) ? firstFactor(error) : error
      }),
    async show(world, factor, { params: { key_id: id = '' }, options }, client) {
      // In a script, stderr may end up in a log, so secrets are printed only on stdout.
      const secret = isInteractive(world) ? `, or enter the secret ${factor.secret}` : ''
      note(world, `Add this to an authenticator app${secret}`)
      print(world, factor.uri)
      if (!isInteractive(world)) {
        return note(world, `Then: moorage mfa confirm ${id} <code>${options.local ? ' --local' : ''}`)
      }
      const code = await ask(world, { message: 'The code that the app shows now', missing: 'Specify the code.' })
      await client.mfa.confirm(id, code)
      success(world, `${id} has a second factor`)
    },
  },
  confirmFactor: {
    about: 'Activate a second factor with its first code',
    args: ['code'],
    call: (client, { params, body, options }) =>
      client.mfa.confirm(params['key_id'] ?? '', String(body['code']), options),
    done: '{} has a second factor',
  },
  getFactor: { name: 'status', about: 'Show whether a key has a second factor' },
  removeFactor: {
    name: 'remove',
    confirm: 'Remove the second factor of {}? It can no longer do anything that requires a code.',
    done: '{} has no second factor',
  },
})

function isCodeMissing(error: unknown): error is MoorageError {
  return error instanceof MoorageError && error.code === 'mfa_required'
}

/**
 * Through the service, only a key that has a factor can give another key one, so a stolen key can't give one to itself.
 */
function firstFactor(cause: MoorageError): Failure {
  const message = 'This requires --local, or the one-time code (--otp) of a key that already has a second factor.'
  const hint = '  To set up the first second factor, run `moorage mfa enrol <key_id> --local` on the server.'
  return new Failure(EXIT.auth, message, hint, cause)
}
