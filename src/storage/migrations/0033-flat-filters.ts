import { sql } from 'kysely'
import type { Engine } from '../database.ts'
import { countAllText, countTriggers, renewTriggers } from '../queries/count-changes.ts'
import type { CountedList } from '../queries/counted-lists.ts'
import type { Migration } from './migration.ts'

type Owner = Pick<CountedList, 'name' | 'owner' | 'except'> & {
  /** It is counted by time already. */
  known?: true
}

const LISTS: (Pick<CountedList, 'table' | 'part' | 'order'> & { of: Owner[] })[] = [
  {
    table: 'invocations',
    part: 'status',
    order: 'created_at',
    of: [
      { name: 'invocations', owner: ['agent_seq'] },
      { name: 'invocations of user', owner: ['agent_seq', 'user_id'] },
      { name: 'invocations of session', owner: ['agent_seq', 'session_id'] },
      { name: 'invocations of starter', owner: ['agent_seq', 'created_by'] },
      { name: 'invocations of schedule', owner: ['agent_seq', 'schedule_id'] },
      {
        name: 'invocations of door',
        owner: ['agent_seq', 'door'],
        except: { column: 'door', value: 'api' },
      },
    ],
  },
  {
    table: 'deliveries',
    part: 'status',
    order: 'created_at',
    of: [
      { name: 'deliveries', owner: ['webhook_id'] },
      { name: 'deliveries of event', owner: ['webhook_id', 'event'] },
    ],
  },
  {
    table: 'audit_log',
    part: 'outcome',
    order: 'created_at',
    of: [
      { name: 'audit log', owner: [], known: true },
      { name: 'audit log of agent', owner: ['agent_id'], known: true },
      { name: 'audit log of action', owner: ['action'] },
      { name: 'audit log of actor', owner: ['actor'] },
    ],
  },
]

const APPROVALS = (
  [
    ['approvals', ['agent_seq']],
    ['approvals of user', ['agent_seq', 'user_id']],
    ['approvals of session', ['agent_seq', 'session_id']],
    ['approvals of starter', ['agent_seq', 'started_by']],
    ['approvals of kind', ['agent_seq', 'kind']],
  ] as const
).map(
  ([name, owner]): CountedList => ({
    name,
    owner,
    table: 'approvals',
    part: 'status',
    order: 'created_at',
    byTime: true,
  }),
)

/**
 * Every counted list is counted by time, and the invocations of schedules and of other doors than the API are counted
 * too, and approvals: so no filter and no page far down a list costs more when the list grows. Memories that are no turns
 * are found by their kind; turns cost nothing there.
 */
const addFlatFilters: Migration = async (db, engine) => {
  // Rows that nodes of an older version write meanwhile would be counted as they did it so far.
  const tables = sql.join(
    [...LISTS, { table: 'approvals' }, { table: 'memories' }].map(({ table }) => sql.table(table)),
  )
  if (engine === 'postgres') await sql`lock table ${tables} in share row exclusive mode`.execute(db)
  await sql.raw(alignTimes(engine)).execute(db)
  for (const { of, ...list } of LISTS) {
    for (const { known, ...owner } of of) {
      if (known) continue
      await sql`delete from list_counts where list = ${owner.name}`.execute(db)
      await sql.raw(countAllText({ ...list, ...owner, byTime: true })).execute(db)
    }
    const lists = of.map(({ known: _known, ...owner }): CountedList => ({ ...list, ...owner, byTime: true }))
    const insertsCounted = list.table !== 'invocations'
    for (const text of renewTriggers(engine, lists, { insertsCounted })) await sql.raw(text).execute(db)
  }
  for (const list of APPROVALS) await sql.raw(countAllText(list)).execute(db)
  for (const text of countTriggers(engine, APPROVALS, { insertsCounted: true })) await sql.raw(text).execute(db)
  // SQLite's indexes end with the number of the row, which decides between those of the same millisecond.
  const time = engine === 'postgres' ? 'created_at, id' : 'created_at'
  for (const index of [
    `approvals_of_agent on approvals (agent_seq, status, ${time})`,
    `approvals_by_user on approvals (agent_seq, user_id, status, ${time}) where user_id is not null`,
    `approvals_by_session on approvals (agent_seq, session_id, status, ${time}) where session_id is not null`,
    `approvals_by_starter on approvals (agent_seq, started_by, status, ${time})`,
    `approvals_by_kind on approvals (agent_seq, kind, status, ${time})`,
    `memories_by_kind on memories (agent_seq, kind, created_at, seq) where kind <> 'turn'`,
  ]) {
    await sql.raw(`create index ${index}`).execute(db)
  }
  for (const index of ['approvals_by_agent', 'approvals_by_status']) await db.schema.dropIndex(index).execute()
}

/** Programs that do not know it count what they write on SQLite in another way. */
export const flatFilters: Migration = Object.assign(addFlatFilters, { breaks: true as const })

/**
 * Invocations were created some milliseconds after their ids, which begin with the time at which their requests came. Lists
 * of several agents are in the order of ids and find pages by time, so the two are the same from now on.
 */
function alignTimes(engine: Engine): string {
  const positionOf = engine === 'postgres' ? 'strpos' : 'instr'
  const letters = Array.from({ length: 10 }, (_, i) => {
    const letter = `${positionOf}('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, ${5 + i}, 1)) - 1`
    return `cast(${letter} as bigint) * ${32 ** (9 - i)}`
  })
  const time = `(${letters.join(' + ')})`
  return `update invocations set created_at = ${time} where length(id) = 30 and created_at - ${time} between 1 and 3600000`
}
