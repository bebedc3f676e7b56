import type { Command } from 'commander'
import type { AgentSession, AgentUser } from '../../../../sdk/client.ts'
import { takesService, yesOption } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import { type Column, note, print, printJson, printRows, success } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COUNTS: Column<AgentUser | AgentSession>[] = [
  { title: 'TURNS', of: (known) => known.turns },
  { title: 'NOTES', of: (known) => known.notes },
  { title: 'LAST USED', of: (known) => known.last_used_at },
]
const USER: Column<AgentUser | AgentSession> = { title: 'USER', of: (known) => known.user_id }
const SESSION: Column<AgentSession> = { title: 'SESSION', of: (session) => session.session_id }

export function users(command: Command, world: World): void {
  takesService(command.command('list'))
    .alias('ls')
    .description('List whom an agent remembers, the latest first')
    .argument('<agent>', 'id or name')
    .addOption(limitOption())
    .action(async (agent: string, options: Common & Limit) => {
      const found = await withClient(world, options, (client) =>
        gather(world, options, (limit) => client.users.list(agent, { limit })),
      )
      printRows(world, found, [USER, ...COUNTS], options)
    })

  takesService(command.command('sessions'))
    .description('List the conversations that an agent remembers, the latest first')
    .argument('<agent>', 'id or name')
    .option('--user <user_id>', 'of this user')
    .addOption(limitOption())
    .action(async (agent: string, options: Common & Limit & { user?: string }) => {
      const found = await withClient(world, options, (client) =>
        gather(world, options, (limit) => client.users.sessions(agent, { user_id: options.user, limit })),
      )
      printRows(world, found, [SESSION, USER, ...COUNTS], options)
    })

  takesService(command.command('export'))
    .description('Print everything that is known of a user, as JSON lines')
    .argument('<user_id>')
    .action(async (user_id: string, options: Common) => {
      await withClient(world, options, async (client) => {
        let lines = 0
        for await (const line of client.users.export(user_id)) {
          print(world, JSON.stringify(line))
          lines += 1
        }
        note(world, `${lines} lines`, 'dim')
      })
    })

  takesService(command.command('erase'))
    .description('Erase what is known of a user: memory, texts of receipts, logs, events')
    .argument('<user_id>')
    .addOption(yesOption())
    .action(async (user_id: string, options: Common & { yes?: boolean }) => {
      await confirm(world, `Erase everything that is known of the user ${user_id}? This cannot be undone.`, options)
      const erased = await withClient(world, options, (client) => client.users.erase(user_id, options))
      if (options.json) return printJson(world, erased)
      const { memories, invocations, unfinished } = erased
      success(
        world,
        `Erased ${user_id}: ${memories} memories, the texts of ${invocations} receipts, and what they left`,
      )
      if (unfinished > 0) note(world, `${unfinished} runs are under way: send it again once they have ended`, 'yellow')
    })
}
