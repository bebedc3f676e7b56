import { sql } from 'kysely'
import { columns } from '../columns.ts'
import { countAllText, countTriggers } from '../queries/count-changes.ts'
import type { CountedList } from '../queries/counted-lists.ts'
import type { Migration } from './migration.ts'

type Owner = Pick<CountedList, 'name' | 'owner' | 'byTime'>

const LISTS: (Pick<CountedList, 'table' | 'part' | 'order'> & { of: Owner[] })[] = [
  {
    table: 'invocations',
    part: 'status',
    order: 'created_at',
    of: [
      { name: 'invocations', owner: ['agent_seq'], byTime: true },
      { name: 'invocations of user', owner: ['agent_seq', 'user_id'] },
      { name: 'invocations of session', owner: ['agent_seq', 'session_id'] },
      { name: 'invocations of starter', owner: ['agent_seq', 'created_by'] },
    ],
  },
  { table: 'logs', part: 'level', order: 'timestamp', of: [{ name: 'logs', owner: ['agent_seq'], byTime: true }] },
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
      { name: 'audit log', owner: [], byTime: true },
      { name: 'audit log of agent', owner: ['agent_id'], byTime: true },
      { name: 'audit log of action', owner: ['action'] },
      { name: 'audit log of actor', owner: ['actor'] },
    ],
  },
]

/** The journal counts what it inserts into these: see `countInserted`. */
const JOURNALED = new Set<string>(['invocations', 'logs'])

/**
 * Lists whose pages and totals cost the same however long they grow: their rows are counted as they are written, and
 * indexes have them by owner, part and time.
 */
export const flatLists: Migration = async (db, engine) => {
  const { text, integer } = columns(engine)
  await db.schema
    .createTable('list_counts')
    .addColumn('list', text, (column) => column.notNull())
    .addColumn('owner', text, (column) => column.notNull())
    .addColumn('part', text, (column) => column.notNull())
    .addColumn('quarter', integer, (column) => column.notNull())
    .addColumn('count', integer, (column) => column.notNull())
    .addPrimaryKeyConstraint('list_counts_pkey', ['list', 'owner', 'part', 'quarter'])
    .modifyEnd(engine === 'postgres' ? sql`` : sql`without rowid`)
    .execute()

  // Rows that nodes of an older version write before the triggers exist would never be counted.
  const tables = sql.join(LISTS.map(({ table }) => sql.table(table)))
  if (engine === 'postgres') await sql`lock table ${tables} in share row exclusive mode`.execute(db)
  for (const { of, ...list } of LISTS) {
    const lists = of.map((owner) => ({ ...list, ...owner }))
    for (const counted of lists) await sql.raw(countAllText(counted)).execute(db)
    const insertsCounted = !JOURNALED.has(list.table)
    for (const trigger of countTriggers(engine, lists, { insertsCounted })) await sql.raw(trigger).execute(db)
  }

  // None of who started an invocation: it would cost every invocation, and only keys that see no others ask for it.
  for (const index of [
    'invocations_by_status on invocations (agent_seq, status, created_at, id)',
    'invocations_by_user on invocations (agent_seq, user_id, status, created_at, id) where user_id is not null',
    'invocations_by_session on invocations (agent_seq, session_id, status, created_at, id) where session_id is not null',
    'logs_by_level on logs (agent_seq, level, timestamp, id)',
    'logs_of_request on logs (request_id, agent_seq)',
    'deliveries_by_status on deliveries (webhook_id, status, created_at, id)',
    'deliveries_by_event_name on deliveries (webhook_id, event, status, created_at, id)',
    'audit_log_by_outcome on audit_log (outcome, created_at, id)',
    'audit_log_of_agent on audit_log (agent_id, outcome, created_at, id)',
    'audit_log_by_action on audit_log (action, outcome, created_at, id)',
    'audit_log_by_actor on audit_log (actor, outcome, created_at, id)',
  ]) {
    await sql.raw(`create index ${index}`).execute(db)
  }
  // These come last, because nobody can read a table from the time its index is dropped until the commit.
  for (const index of [
    'invocations_by_agent',
    'logs_by_agent',
    'logs_by_request',
    'deliveries_by_webhook',
    'audit_log_by_created_at',
    'audit_log_by_agent',
  ]) {
    await db.schema.dropIndex(index).execute()
  }
}
