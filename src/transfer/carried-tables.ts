import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { AUTH_PURPOSE } from '../agents/agent.ts'
import { FACTOR_PURPOSE } from '../keys/factors/factor.ts'
import { purposeOf as purposeOfProvider } from '../providers/provider.ts'
import { purposeOf as purposeOfSecret } from '../secrets/secret.ts'
import { keyOf, TABLES, type TableName } from '../storage/tables.ts'
import { SECRET_PURPOSE } from '../webhooks/webhook.ts'
import type { TransferPart } from './transfer-parts.ts'

/** A value of a row as it appears in a file. */
export type FileValue = string | number | null

export type FileRecord = Readonly<Record<string, FileValue>>

/** Tables whose rows a column refers to by ID. */
type Named = 'agents' | 'keys' | 'budgets' | 'schedules'

/**
 * Tables whose rows a column refers to even if they no longer exist. If they exist, they must belong to the same
 * project.
 */
export type Mentioned = 'agents' | 'runs' | 'files' | 'schedules' | 'memories'

/** A table whose rows are exported with their project. All its columns are, unless something else is defined here. */
export type CarriedTable = {
  /**
   * How its rows are found and in which order. `project`: by `project_id`. `agent`: agent by agent. `sequence`: by
   * ranges of a column that only grows, among the rows of the project's agents. Otherwise, by a condition on other
   * tables.
   */
  by: 'project' | 'agent' | 'sequence' | ((project_id: string) => RawBuilder<SqlBool>)
  /** The order of the rows of an agent or of the project. Default: by the columns of the key. */
  order?: readonly string[]
  part?: TransferPart
  /** Only rows for which this is true are exported. */
  where?: RawBuilder<SqlBool>
  /** Columns that aren't in the file, with their values in the target. */
  fixed?: Readonly<Record<string, FileValue>>
  /**
   * Secrets, and the purpose for which each was encrypted in its store. In the file, `null` means that there is no
   * secret.
   */
  sealed?: Readonly<Record<string, (row: FileRecord, project_id: string) => string>>
  /**
   * Columns with the number of a memory. The numbers differ between stores, so the file contains the ID of the last
   * memory up to that number.
   */
  memories?: readonly string[]
  /**
   * Columns with IDs of receipts, which must be in the same file. There may be millions, so they are looked up in the
   * target.
   */
  receipts?: readonly string[]
  /** Columns with IDs of rows that must be in the same file. */
  names?: Readonly<Record<string, Named>>
  mentions?: Readonly<Record<string, Mentioned>>
  /** Columns that change when a row is used, so they don't show whether two rows are equal. */
  used?: readonly string[]
}

/** A table whose rows aren't exported, and why. */
type LeftOutTable = { stays: string }

const OF_SERVICE_KEYS = sql<SqlBool>`person_id is null and role_source is null`

/** A link's budget stays with the link. */
const IS_NO_LINKS = sql<SqlBool>`(scope_id is null or substr(scope_id, 1, 4) <> 'lnk_')`

const ofServiceKeys = (project_id: string) => sql<SqlBool>`
  key_id in (select id from keys where project_id = ${project_id} and ${OF_SERVICE_KEYS})`

/** The receipt of the run is exported too. */
const HAS_ENDED = sql<SqlBool>`exists (select 1 from invocations where invocations.id = request_id)`

/**
 * What happens to each table when a project is exported, in the order in which a file contains the tables. Every table
 * must be named here, or this doesn't compile.
 */
export const TRANSFER = {
  agents: { by: 'project', order: ['seq'], sealed: { auth: () => AUTH_PURPOSE } },
  versions: { by: 'agent', order: ['version'], names: { agent_id: 'agents' } },
  deployments: {
    by: 'agent',
    order: ['id'],
    // A gradual deployment in progress is left out, because its guard belongs to this service.
    where: sql<SqlBool>`status not in ('rolling_out', 'paused')`,
    names: { agent_id: 'agents' },
  },
  // The project pays for these (see `paid_by` and `set_by`). In another service, the operator doesn't pay for the
  // project.
  providers: { by: 'project', fixed: { paid_by: 'project' }, sealed: { api_key: purposeOfNamed(purposeOfProvider) } },
  prices: { by: 'project', fixed: { set_by: 'project' } },
  secrets: { by: 'project', sealed: { value: purposeOfNamed(purposeOfSecret) } },
  budgets: { by: 'project', where: IS_NO_LINKS, names: { agent_id: 'agents' } },
  budget_counters: {
    by: (project_id) => sql<SqlBool>`
      budget_id in (select id from budgets where budgets.project_id = ${project_id} and ${IS_NO_LINKS})`,
    where: sql<SqlBool>`kept = 1`,
    fixed: { reserved: 0 },
    names: { budget_id: 'budgets' },
  },
  /** The bytes are exported too. The target stores them as another blob. */
  files: {
    by: 'project',
    order: ['sha256', 'id'],
    fixed: { blob_id: '' },
    mentions: { agent_id: 'agents', request_id: 'runs', schedule_id: 'schedules' },
  },
  schedules: { by: 'agent', order: ['id'], names: { agent_id: 'agents' }, mentions: { last_request_id: 'runs' } },
  schedule_files: {
    by: (project_id) => sql<SqlBool>`schedule_id in (
      select schedules.id from schedules join agents on agents.id = agent_id where project_id = ${project_id})`,
    order: ['schedule_id', 'file_id'],
    names: { schedule_id: 'schedules' },
    mentions: { file_id: 'files' },
  },
  memories: { by: 'sequence', order: ['seq'], mentions: { superseded_by: 'memories' } },
  memory_vectors: { by: 'sequence', order: ['memory_seq'], memories: ['memory_seq'] },
  memory_scopes: { by: 'agent', memories: ['facts_through'] },
  memory_summaries: { by: 'agent', memories: ['through_seq'] },
  invocations: {
    by: 'agent',
    order: ['id'],
    part: 'receipts',
    mentions: { parent_request_id: 'runs', schedule_id: 'schedules' },
  },
  approvals: {
    by: 'agent',
    order: ['id'],
    part: 'receipts',
    where: sql<SqlBool>`status <> 'pending' and ${HAS_ENDED}`,
    fixed: { connection_id: null, link_id: null, holder: null, grant_id: null },
    mentions: { request_id: 'runs' },
  },
  feedback: { by: 'agent', order: ['id'], part: 'receipts', receipts: ['request_id'] },
  logs: { by: 'sequence', order: ['id'], part: 'logs', mentions: { request_id: 'runs' } },
  ledger: {
    by: 'project',
    part: 'usage',
    where: sql<SqlBool>`status <> 'reserved'`,
    fixed: { charges: null, owner: null, lease_until: null },
    mentions: { agent_id: 'agents', request_id: 'runs' },
  },
  recent_metrics: { by: 'agent', part: 'metrics' },
  metrics: { by: 'agent', part: 'metrics' },
  metric_buckets: { by: 'agent', part: 'metrics' },
  version_metrics: { by: 'agent', part: 'metrics' },
  webhooks: {
    by: 'project',
    where: sql<SqlBool>`request_id is null`,
    fixed: { request_id: null, name: null, format: null, headers: null },
    sealed: { secret: () => SECRET_PURPOSE, earlier_secrets: () => SECRET_PURPOSE },
    names: { agent_id: 'agents' },
  },
  /** Keys give access to the project, so they come last. */
  keys: {
    by: 'project',
    where: OF_SERVICE_KEYS,
    fixed: { person_id: null, role_source: null, role_id: null, vouched_at: null },
    names: { agent_id: 'agents' },
    used: ['last_used_at'],
  },
  earlier_secrets: { by: ofServiceKeys, names: { key_id: 'keys' } },
  key_factors: {
    by: ofServiceKeys,
    sealed: { secret: () => FACTOR_PURPOSE },
    names: { key_id: 'keys' },
    used: ['last_step', 'wrong_codes', 'locked_until', 'version'],
  },

  connections: {
    stays: 'a provider knows this service by its URL, so the target is set up there as a client of its own',
  },
  connection_grants: { stays: 'the tokens of users and of the project are not given away: they sign in again' },
  applications: { stays: 'their tokens are for this service, so people connect them to the target themselves' },
  refresh_tokens: { stays: 'they are for this service' },
  connection_links: { stays: 'they sign in through this service, for ten minutes' },
  usage_sums: { stays: 'the target sums the lines of the ledger that it did not have yet' },
  projects: { stays: 'its name, description and limits are in the header of the file; the target gives it another id' },
  pauses: { stays: 'an imported project begins with a pause of its own' },
  runs: { stays: 'what is in progress continues where it is' },
  steps: { stays: 'as runs: receipts have the steps of what has ended' },
  rollouts: { stays: 'how deployments of this service have proceeded' },
  rollout_answers: { stays: 'answers that this service will compare' },
  sets: { stays: 'its cases are copies of what runs of this service said' },
  replays: { stays: 'background work of this service, and what came of it' },
  cases: { stays: 'copies of what runs of this service said' },
  agent_counts: { stays: 'triggers count what is imported' },
  file_counts: { stays: 'triggers count what is imported' },
  triggers: { stays: 'their URLs belong to this service, and senders use them' },
  incoming_deliveries: { stays: 'what triggers of this service were sent' },
  chat_answers: { stays: 'what this service sends to the conversations of its triggers' },
  listeners: { stays: 'clients of this service that listen now' },
  events: { stays: 'what was to be sent is sent by this service' },
  deliveries: { stays: 'what was to be sent is sent by this service' },
  persons: { stays: 'people sign in with the identity providers of a service' },
  person_identities: { stays: 'people sign in with the identity providers of a service' },
  links: { stays: 'their URLs are of this service, and their visitors have cookies of it' },
  link_visitors: { stays: 'as links: a browser visits the links of one service' },
  invitations: { stays: 'people sign in with the identity providers of a service' },
  console_sessions: { stays: 'sessions of browsers with this service' },
  console_links: { stays: 'they sign in to this service, for ten minutes' },
  audit_log: { stays: 'its entries are links of one chain, which is that of the service' },
  audit_chain: { stays: 'its entries are links of one chain, which is that of the service' },
  settings: { stays: 'what the installation stores about itself' },
  claims: { stays: 'replies to requests that this service was sent' },
  jobs: { stays: 'background work of this service' },
  nodes: { stays: 'processes of this service' },
  blobs: { stays: 'the bytes go with the files, and the target stores them as blobs of its own' },
  blob_chunks: { stays: 'the bytes go with the files, and the target stores them as blobs of its own' },
} as const satisfies Record<TableName, CarriedTable | LeftOutTable>

export type CarriedName = {
  [Name in TableName]: (typeof TRANSFER)[Name] extends LeftOutTable ? never : Name
}[TableName]

/** The tables that a file with these parts contains, in order. */
export function carriedNames(parts: readonly TransferPart[]): CarriedName[] {
  return (Object.keys(TRANSFER) as TableName[]).filter((name): name is CarriedName => {
    const way: CarriedTable | LeftOutTable = TRANSFER[name]
    return !('stays' in way) && (way.part === undefined || parts.includes(way.part))
  })
}

export function carriedTable(name: CarriedName): CarriedTable {
  return TRANSFER[name]
}

export function isCarried(name: string): name is CarriedName {
  return Object.hasOwn(TRANSFER, name) && !('stays' in TRANSFER[name as TableName])
}

/** The columns of a row in a file, in the table's order. */
export function cellColumns(name: CarriedName): string[] {
  const { fixed = {} } = carriedTable(name)
  return Object.entries(factsOf(name))
    .filter(([column, { kind, only }]) => {
      const isOfStore = column === 'project_id' || kind === 'sequence' || only !== undefined
      return !isOfStore && !Object.hasOwn(fixed, column)
    })
    .map(([column]) => column)
}

export function factsOf(name: CarriedName) {
  const { columns } = TABLES[name]
  return Object.fromEntries(Object.entries(columns).map(([column, { facts }]) => [column, facts]))
}

/** The columns by which a table is read in order, apart from the agent or the project. */
export function orderOf(name: CarriedName): readonly string[] {
  const { order } = carriedTable(name)
  return order ?? keyOf(name).filter((column) => column !== 'agent_seq' && column !== 'project_id')
}

/** Identifies a row within its table, without the project. A sealed value can't be opened in another row. */
export function placeOf(name: CarriedName, column: string, row: FileRecord): string {
  const key = keyOf(name).filter((part) => part !== 'project_id')
  const id = Object.hasOwn(row, 'id') ? [row['id']] : key.map((part) => row[part])
  return JSON.stringify([name, column, ...id])
}

function purposeOfNamed(purposeOf: (named: { project_id: string; name: string }) => string) {
  return ({ name }: FileRecord, project_id: string) => purposeOf({ project_id, name: String(name) })
}
