import type { Command } from 'commander'
import type { AgentSession, AgentUser, Client } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { takesService, yesOption } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import { type Limit, limitOption, printList } from '../../terminal/gather.ts'
import { type Column, note, print, printJson, success } from '../../terminal/output.ts'
import { confirm } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'

const COLUMNS: Column<AgentUser | AgentSession>[] = [
  { title: 'USER', of: (known) => known.user_id },
  { title: 'TURNS', of: (known) => known.turns },
  { title: 'NOTES', of: (known) => known.notes },
  { title: 'LAST USED', of: (known) => known.last_used_at },
]
const SESSION: Column<AgentSession> = { title: 'SESSION', of: (session) => session.session_id }

export function users(command: Command, world: World): void {
  takesService(command.command('list'))
    .alias('ls')
    .description('List whom an agent remembers, the latest first')
    .argument('<agent>', 'id or name')
    .addOption(limitOption())
    .action(async (agent: string, options: Common & Limit) => {
      await withClient(world, options, (client) =>
        printList(world, options, COLUMNS, (limit) => client.users.list(agent, { limit })),
      )
    })

  takesService(command.command('sessions'))
    .description('List the conversations that an agent remembers, the latest first')
    .argument('<agent>', 'id or name')
    .option('--user <user_id>', 'of this user')
    .addOption(limitOption())
    .action(async (agent: string, options: Common & Limit & { user?: string }) => {
      const { user: user_id } = options
      await withClient(world, options, (client) =>
        printList(world, options, [SESSION, ...COLUMNS], (limit) => client.users.sessions(agent, { user_id, limit })),
      )
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
        note(world, counted(lines, 'line'), 'dim')
      })
    })

  takesService(command.command('erase'))
    .description('Erase what is known of a user: memory, files, texts of receipts, logs, events')
    .argument('<user_id>')
    .option('--cancel', 'cancel the runs of the user that have not ended')
    .addOption(yesOption())
    .action(async (user_id: string, options: Common & { yes?: boolean; cancel?: boolean }) => {
      await confirm(world, `Erase everything that is known of the user ${user_id}? This cannot be undone.`, options)
      const erased = await withClient(world, options, (client) => erase(client, user_id, options))
      const { memories, files, invocations, unfinished, unfinished_runs } = erased
      if (options.json) printJson(world, erased)
      if (unfinished > 0) {
        const runs = unfinished_runs.map(({ request_id, status }) => `${request_id} (${status})`).join(', ')
        const which = counted(unfinished, 'run has', 'runs have')
        const help = options.cancel ? 'Run the command again' : 'Add --cancel, or erase again once all runs have ended'
        throw new Failure(EXIT.failed, `${user_id} is not erased yet: ${which} not ended: ${runs}. ${help}`)
      }
      if (options.json) return
      success(
        world,
        `Erased ${user_id}: ${counted(memories, 'memory', 'memories')}, ${counted(files, 'file')}, the texts of ${counted(invocations, 'receipt')}, and what they left`,
      )
    })
}

/**
 * With `cancel`, runs that have not ended are cancelled and the user is erased again, while that leaves fewer of them. The
 * client brings a one-time code of its own for each time.
 */
async function erase(client: Client, user_id: string, { cancel }: { cancel?: boolean }) {
  const total = await client.users.erase(user_id)
  while (cancel && total.unfinished > 0) {
    for (const { agent_id, request_id } of total.unfinished_runs) await client.invocations.cancel(agent_id, request_id)
    const before = total.unfinished
    const { unfinished, unfinished_runs, ...counts } = await client.users.erase(user_id)
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) total[name] += counts[name]
    Object.assign(total, { unfinished, unfinished_runs })
    if (unfinished >= before) break
  }
  return total
}
