import type { TABLES } from '../tables.ts'

type DescribedTables = typeof TABLES

type Statistics = {
  [Name in keyof DescribedTables]?: {
    [Index in DescribedTables[Name]['indexNames'] | `sqlite_autoindex_${Name}_1`]?: string
  }
}

/**
 * How many rows share a value of each index, as SQLite's `analyze` would find in a store with a million invocations.
 * SQLite uses these numbers to choose indexes. PostgreSQL collects its own.
 */
const STATISTICS: Statistics = {
  invocations: {
    sqlite_autoindex_invocations_1: '1000000 1',
    invocations_by_agent: '1000000 1000000 1',
    invocations_by_status: '1000000 1000000 500000 1',
    invocations_by_user: '1000000 1000000 1000 1',
    invocations_by_session: '1000000 1000000 20 1',
    invocations_by_schedule: '100000 100000 1000 1',
    invocations_by_parent: '100000 2 1',
    invocations_by_starter: '1000000 1000000 200000 1',
    invocations_by_door: '1000000 1000000 300000 1',
    invocations_not_completed: '20000 5000 1 1',
    invocations_by_end: '1000000 1000000 1000 1 1 1',
  },
  runs: {
    sqlite_autoindex_runs_1: '10000 1',
    runs_by_agent: '10000 100 1',
    runs_by_status: '10000 4000 50 1',
    runs_by_parent: '1000 2 1',
    runs_waiting: '1000 1',
    runs_waiting_for: '1000 100',
    runs_cancelled: '10 1',
    runs_by_turn: '3000 1',
    runs_in_line: '1000 5 1 1',
    runs_due: '4000 20 1 1',
    runs_interactive: '100 2 1 1',
  },
  approvals: {
    sqlite_autoindex_approvals_1: '100000 1',
    approvals_by_request: '100000 2 1',
    approvals_by_agent: '100000 100000 1 1',
    approvals_by_status: '100000 50000 1',
    approvals_by_user: '100000 1000 1',
    approvals_by_session: '100000 20 1',
    approvals_by_starter: '100000 20000 1',
  },
  logs: {
    logs_by_agent: '2000000 2000000 2 1 1',
    logs_not_info: '40000 40000 1 1 1',
    logs_of_request: '2000000 2',
  },
  audit_log: {
    sqlite_autoindex_audit_log_1: '1000000 1',
    audit_log_by_project: '1000000 1000000 1',
    audit_log_by_outcome: '1000000 1000000 500000 1',
    audit_log_by_agent: '1000000 1000000 10000 1',
    audit_log_by_action: '1000000 1000000 20000 1',
    audit_log_by_actor: '1000000 1000000 10000 1',
    audit_log_unsealed: '100 1',
  },
}

/** `analyze` creates the statistics table, which is empty in an empty store. */
export function sqliteStatistics(): string[] {
  const rows = Object.entries(STATISTICS).flatMap(([table, indexes]) =>
    Object.entries(indexes).map(([index, stat]) => `('${table}', '${index}', '${stat}')`),
  )
  return ['analyze', 'delete from sqlite_stat1', `insert into sqlite_stat1 (tbl, idx, stat) values ${rows.join(', ')}`]
}
