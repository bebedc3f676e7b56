import type { Command } from 'commander'
import { takesService, yesOption } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { readMessage } from '../../terminal/input.ts'
import { printDone, printRecord } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

type Whose = Common & { user?: string }

const queryOf = ({ user }: Whose) => ({ user_id: user })

/** Commands for what the model is shown of a long session. */
export function sessionSummary(command: Command, world: World): void {
  takesSession(command.command('summary'))
    .description('Show the summary of a session')
    .action(async (agent: string, session: string, options: Whose) => {
      const found = await withClient(world, options, (client) =>
        client.memory.summary(agent, session, queryOf(options)),
      )
      printRecord(world, found, options)
    })

  takesSession(command.command('set-summary'))
    .description('Replace the summary of a session')
    .argument('[content...]', 'what it says from now on; without it stdin is read')
    .action(async (agent: string, session: string, words: string[], options: Whose) => {
      const content = await readMessage(world, words)
      const replaced = await withClient(world, options, (client) =>
        client.memory.replaceSummary(agent, session, { content }, queryOf(options), options),
      )
      printDone(world, replaced, options, `Replaced the summary of ${session}`)
    })

  takesSession(command.command('delete-summary'))
    .description('Delete the summary of a session: the model makes it anew')
    .addOption(yesOption())
    .action(async (agent: string, session: string, options: Whose & { yes?: boolean }) => {
      await confirm(world, `Delete the summary of the session ${session} of ${agent}?`, options)
      const deleted = await withClient(world, options, (client) =>
        client.memory.deleteSummary(agent, session, queryOf(options), options),
      )
      printDone(world, deleted, options, `Deleted the summary of ${session}`)
    })
}

function takesSession(command: Command): Command {
  return takesService(command)
    .argument('<agent>', 'id or name')
    .argument('<session_id>')
    .option('--user <user_id>', 'whose session it is')
}
