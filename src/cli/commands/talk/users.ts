import type { Command } from 'commander'
import type { AgentSession, AgentUser } from '../../../../sdk/client.ts'
import { takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { gather, type Limit, limitOption } from '../../terminal/gather.ts'
import { type Column, printRows } from '../../terminal/output.ts'
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
}
