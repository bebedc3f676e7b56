import type { AgentUser, Client } from '../../../../sdk/client.ts'
import { counted } from '../../../lib/text/counted.ts'
import { EXIT, Failure } from '../../failure.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'

const COLUMNS: readonly (keyof AgentUser)[] = ['user_id', 'turns', 'notes', 'last_used_at']

export const users = serviceCommands('users', {
  listUsers: {
    about: 'List the users an agent has memories of, most recent first',
    columns: { of: COLUMNS },
  },
  listSessions: {
    about: "List an agent's conversations, most recent first",
    columns: { of: ['session_id', ...COLUMNS] },
  },
  exportUser: { about: "Print all of a user's data, as JSON lines" },
  eraseUser: {
    about: "Erase a user's data: memory, files, receipt texts, logs and events",
    more: (command) => command.option('--cancel', 'cancel the runs of the user that have not ended'),
    confirm: "Erase all data of the user {}? This can't be undone.",
    call: (client, { params, options }) => erase(client, params['user_id'] ?? '', options['cancel'] === true),
    verify({ unfinished, unfinished_runs }, { ref, options }) {
      if (unfinished === 0) return
      const runs = unfinished_runs.map(({ request_id, status }) => `${request_id} (${status})`).join(', ')
      const which = counted(unfinished, 'run has', 'runs have')
      const help = options['cancel']
        ? 'Run the command again.'
        : 'Add --cancel, or erase again after all runs have ended.'
      throw new Failure(EXIT.failed, `${ref} is not erased yet: ${which} not ended: ${runs}. ${help}`)
    },
    done: ({ memories, files, invocations }, { ref }) =>
      `Erased ${ref}: ${counted(memories, 'memory', 'memories')}, ${counted(files, 'file')}, the texts of ${counted(invocations, 'receipt')}, and their logs and events`,
  },
})

/**
 * Erases a user. With `cancel`, active runs are cancelled and the user is erased again, as long as that reduces the
 * number of active runs. The client provides a separate one-time code each time.
 */
async function erase(client: Client, user_id: string, cancel: boolean) {
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
