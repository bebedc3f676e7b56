import type { Tables } from '../tables.ts'

/** Rows are counted by the quarter of a day: few enough to be added up, and none has many rows. */
export const QUARTER_MS = 21_600_000
/** In place of the quarter, in a list that is not counted by time. Only migration 0019 has such lists. */
export const NO_QUARTER = -1

/**
 * A list that may grow long. Its rows are counted as they come, change and go (`count-changes.ts`). So its total, also
 * that of a range of time, is known without counting, and so is where a page far down the list begins. An index has its
 * rows by owner, part and time.
 */
export type CountedList = {
  /** The list in `list_counts`. */
  name: string
  table: keyof Tables & string
  /** The columns that say whose list it is. A row in which one of them is null is in no such list. */
  owner: readonly string[]
  /** The column that parts the list: it has few values, and the rows of each are counted apart. */
  part: string
  /** The column of times that it is ordered by; rows of one millisecond in the order of `numberOf`. */
  order: 'created_at' | 'timestamp'
  /** Its rows are counted by the quarter of a day. */
  byTime?: true
  /** Rows with this value are in no such list: most have it, and cost nothing there. */
  except?: { column: string; value: string }
}

const INVOCATIONS = { table: 'invocations', part: 'status', order: 'created_at', byTime: true } as const
export const INVOCATIONS_OF_AGENT: CountedList = {
  ...INVOCATIONS,
  name: 'invocations',
  owner: ['agent_seq'],
}
export const INVOCATIONS_OF_USER: CountedList = {
  ...INVOCATIONS,
  name: 'invocations of user',
  owner: ['agent_seq', 'user_id'],
}
export const INVOCATIONS_OF_SESSION: CountedList = {
  ...INVOCATIONS,
  name: 'invocations of session',
  owner: ['agent_seq', 'session_id'],
}
export const INVOCATIONS_OF_STARTER: CountedList = {
  ...INVOCATIONS,
  name: 'invocations of starter',
  owner: ['agent_seq', 'created_by'],
}
export const INVOCATIONS_OF_SCHEDULE: CountedList = {
  ...INVOCATIONS,
  name: 'invocations of schedule',
  owner: ['agent_seq', 'schedule_id'],
}
export const INVOCATIONS_OF_DOOR: CountedList = {
  ...INVOCATIONS,
  name: 'invocations of door',
  owner: ['agent_seq', 'door'],
  except: { column: 'door', value: 'api' },
}

export const LOGS_OF_AGENT: CountedList = {
  name: 'logs',
  table: 'logs',
  owner: ['agent_seq'],
  part: 'level',
  order: 'timestamp',
  byTime: true,
}

const DELIVERIES = { table: 'deliveries', part: 'status', order: 'created_at', byTime: true } as const
export const DELIVERIES_OF_WEBHOOK: CountedList = { ...DELIVERIES, name: 'deliveries', owner: ['webhook_id'] }
export const DELIVERIES_OF_EVENT: CountedList = {
  ...DELIVERIES,
  name: 'deliveries of event',
  owner: ['webhook_id', 'event'],
}

const APPROVALS = { table: 'approvals', part: 'status', order: 'created_at', byTime: true } as const
export const APPROVALS_OF_AGENT: CountedList = { ...APPROVALS, name: 'approvals', owner: ['agent_seq'] }
export const APPROVALS_OF_USER: CountedList = {
  ...APPROVALS,
  name: 'approvals of user',
  owner: ['agent_seq', 'user_id'],
}
export const APPROVALS_OF_SESSION: CountedList = {
  ...APPROVALS,
  name: 'approvals of session',
  owner: ['agent_seq', 'session_id'],
}
export const APPROVALS_OF_STARTER: CountedList = {
  ...APPROVALS,
  name: 'approvals of starter',
  owner: ['agent_seq', 'started_by'],
}
export const APPROVALS_OF_KIND: CountedList = {
  ...APPROVALS,
  name: 'approvals of kind',
  owner: ['agent_seq', 'kind'],
}

const AUDIT_LOG = { table: 'audit_log', part: 'outcome', order: 'created_at', byTime: true } as const
export const AUDIT_OF_ALL: CountedList = { ...AUDIT_LOG, name: 'audit log', owner: [] }
export const AUDIT_OF_AGENT: CountedList = { ...AUDIT_LOG, name: 'audit log of agent', owner: ['agent_id'] }
export const AUDIT_OF_ACTION: CountedList = { ...AUDIT_LOG, name: 'audit log of action', owner: ['action'] }
export const AUDIT_OF_ACTOR: CountedList = { ...AUDIT_LOG, name: 'audit log of actor', owner: ['actor'] }

export const COUNTED_LISTS: readonly CountedList[] = [
  INVOCATIONS_OF_AGENT,
  INVOCATIONS_OF_USER,
  INVOCATIONS_OF_SESSION,
  INVOCATIONS_OF_STARTER,
  INVOCATIONS_OF_SCHEDULE,
  INVOCATIONS_OF_DOOR,
  LOGS_OF_AGENT,
  DELIVERIES_OF_WEBHOOK,
  DELIVERIES_OF_EVENT,
  APPROVALS_OF_AGENT,
  APPROVALS_OF_USER,
  APPROVALS_OF_SESSION,
  APPROVALS_OF_STARTER,
  APPROVALS_OF_KIND,
  AUDIT_OF_ALL,
  AUDIT_OF_AGENT,
  AUDIT_OF_ACTION,
  AUDIT_OF_ACTOR,
]
