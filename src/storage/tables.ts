import type {
  AgentsTable,
  AllInvocationsView,
  ApprovalsTable,
  DeploymentsTable,
  InvocationsTable,
  LogsTable,
  MetricBucketsTable,
  MetricsTable,
  RecentMetricsTable,
  RunsTable,
  ScheduleFilesTable,
  SchedulesTable,
  StepsTable,
  VersionsTable,
} from './tables/agent-tables.ts'
import type { BlobChunksTable, BlobsTable, FileCountsTable, FilesTable } from './tables/file-tables.ts'
import type {
  MemoriesTable,
  MemoryScopesTable,
  MemorySummariesTable,
  MemoryVectorsTable,
} from './tables/memory-tables.ts'
import type { PausesTable, ProjectsTable } from './tables/project-tables.ts'
import type {
  AuditChainTable,
  AuditLogTable,
  ConsoleLinksTable,
  ConsoleSessionsTable,
  EarlierSecretsTable,
  InvitationsTable,
  KeyFactorsTable,
  KeysTable,
  PersonIdentitiesTable,
  PersonsTable,
  ProvidersTable,
  SecretsTable,
} from './tables/security-tables.ts'
import type {
  AgentCountsTable,
  ClaimsTable,
  JobsTable,
  MigrationsTable,
  NodesTable,
  SettingsTable,
} from './tables/service-tables.ts'
import type {
  BudgetCountersTable,
  BudgetsTable,
  LedgerTable,
  PricesTable,
  UsageSumsTable,
} from './tables/usage-tables.ts'
import type { DeliveriesTable, EventsTable, ListenersTable, WebhooksTable } from './tables/webhook-tables.ts'

/**
 * The schema, the same on both engines: times are epoch milliseconds, flags 0/1, JSON is text. The columns of each
 * table are declared in `tables/`, and made in `schema/`.
 */
export type Tables = {
  migrations: MigrationsTable
  settings: SettingsTable
  projects: ProjectsTable
  pauses: PausesTable
  agents: AgentsTable
  persons: PersonsTable
  person_identities: PersonIdentitiesTable
  invitations: InvitationsTable
  keys: KeysTable
  claims: ClaimsTable
  versions: VersionsTable
  deployments: DeploymentsTable
  runs: RunsTable
  invocations: InvocationsTable
  all_invocations: AllInvocationsView
  steps: StepsTable
  schedules: SchedulesTable
  schedule_files: ScheduleFilesTable
  approvals: ApprovalsTable
  jobs: JobsTable
  nodes: NodesTable
  logs: LogsTable
  recent_metrics: RecentMetricsTable
  metrics: MetricsTable
  metric_buckets: MetricBucketsTable
  memories: MemoriesTable
  memory_vectors: MemoryVectorsTable
  memory_scopes: MemoryScopesTable
  memory_summaries: MemorySummariesTable
  webhooks: WebhooksTable
  events: EventsTable
  deliveries: DeliveriesTable
  key_factors: KeyFactorsTable
  audit_log: AuditLogTable
  audit_chain: AuditChainTable
  secrets: SecretsTable
  providers: ProvidersTable
  console_sessions: ConsoleSessionsTable
  console_links: ConsoleLinksTable
  earlier_secrets: EarlierSecretsTable
  listeners: ListenersTable
  agent_counts: AgentCountsTable
  ledger: LedgerTable
  usage_sums: UsageSumsTable
  prices: PricesTable
  budgets: BudgetsTable
  budget_counters: BudgetCountersTable
  files: FilesTable
  blobs: BlobsTable
  blob_chunks: BlobChunksTable
  file_counts: FileCountsTable
}
