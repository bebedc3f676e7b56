import { sql } from 'kysely'
import { countAllText, renewTriggers } from '../queries/count-changes.ts'
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
      { name: 'invocations', owner: ['agent_seq'], known: true },
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

/**
 * Every counted list is counted by time, and the invocations of schedules and of other doors than the API are counted
 * too: so no filter and no page far down a list costs more when the list grows.
 */
export const flatFilters: Migration = async (db, engine) => {
  // Rows that nodes of an older version write meanwhile would be counted as they did it so far.
  const tables = sql.join(LISTS.map(({ table }) => sql.table(table)))
  if (engine === 'postgres') await sql`lock table ${tables} in share row exclusive mode`.execute(db)
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
}
