import type { Command } from 'commander'
import type { ConsoleSession } from '../../../../sdk/client.ts'
import { takesStore, yesOption } from '../../command.ts'
import { type Common, withClientOrStore } from '../../connect/connect.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, printDone } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<ConsoleSession>[] = [
  { title: 'ID', of: (session) => session.id },
  { title: 'WHO', of: (session) => session.person_name ?? session.key_name },
  { title: 'FROM', of: (session) => session.address },
  { title: 'SIGNED IN', of: (session) => session.created_at },
  { title: 'LAST USED', of: (session) => session.last_used_at },
  { title: 'ENDS', of: (session) => session.expires_at },
]

export function consoleSessions(command: Command, world: World): void {
  takesStore(command.command('sessions'))
    .description('List who is signed in to the console')
    .addOption(limitOption())
    .option('--key <id>', 'signed in with this key')
    .action(async (options: Common & Limit & { key?: string }) => {
      const query = { key_id: options.key }
      await withClientOrStore(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.console.sessions({ ...query, limit })),
      )
    })

  takesStore(command.command('sign-out'))
    .description('End a session of the console; the browser must sign in again')
    .argument('<session>')
    .addOption(yesOption())
    .action(async (id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `End the session ${id}?`, options)
      const ended = await withClientOrStore(world, options, (client) => client.console.endSession(id, options))
      printDone(world, ended, options, `Ended ${id}`)
    })
}
