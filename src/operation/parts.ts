import type { Config, ShownSetting } from '../config.ts'
import type { Events } from '../events.ts'
import type { NewId } from '../lib/id.ts'
import type { Logger } from '../lib/log.ts'
import type { ProgramVersion } from '../lib/version.ts'
import type { Errands } from '../lib/work/errands.ts'
import type { Embedder } from '../runtime/embedders/embedder.ts'
import type { LiveRuns } from '../runtime/following/live-runs.ts'
import type { RemoteRuns } from '../runtime/following/remote-runs.ts'
import type { StepsElsewhere } from '../runtime/remote-agent/steps-elsewhere.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { ConnectionSource } from '../runtime/tools/connections/connected.ts'
import type { SecretSource } from '../runtime/tools/fill-secrets.ts'
import type { Keyring } from '../security/keyring.ts'
import type { RateLimiter } from '../security/limits/rate-limiter.ts'
import type { KnownProvider } from '../security/oauth/oauth-client.ts'
import type { GuardedFetch } from '../security/outgoing/guarded-client.ts'
import type { Bytes } from '../storage/bytes/bytes.ts'
import type { Journal } from '../storage/journal/journal.ts'
import type { NodeList } from '../storage/leases/node-list.ts'
import type { Memo } from '../storage/memo.ts'
import type { Storage } from '../storage/open-storage.ts'
import type { RowWith, Tables } from '../storage/tables.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Tracer } from '../telemetry/tracing.ts'
import type { AuditTrail } from './audit-trail.ts'
import type { EarlierTexts } from './earlier-texts.ts'
import type { Pauses } from './pauses.ts'
import type { FindProject, Prices } from './project-snapshot.ts'
import type { Recall } from './recall.ts'
import type { Spending } from './spending.ts'

/** How many rows each kind of data has, and how many from each of the last days are kept. */
export type StoreSizes = {
  measured_at: number
  bytes: number
  rows: Record<string, number>
  days: { day: string; invocations: number; logs: number; audit_log: number }[]
}

/** A connection in the database. */
export type StoredConnection = RowWith<
  Tables['connections'],
  { scopes: string[]; hosts: string[]; return_origins: string[] }
>

/** The providers that connections sign in to. */
export type OAuthProviders = {
  /** Throws OAuthFailure. With `isAgain`, the provider's cached metadata isn't used. */
  open(connection: StoredConnection, options?: { isAgain?: boolean }): Promise<KnownProvider>
}

/** The parts of the service. They are created once, in app.ts. */
export type Parts = {
  config: Config
  /** The configuration that an operator can see. */
  settings(): readonly ShownSetting[]
  /** How much the store contains. A large store is measured only from time to time. */
  sizes(): Promise<StoreSizes>
  storage: Storage
  /** The bytes of files. */
  bytes: Bytes
  journal: Journal
  events: Events
  keyring: Keyring
  runtime: Runtime
  /** The secrets that the agents of a project can use. */
  secrets: SecretSource
  /** Tokens of users and projects, for tools. */
  connections: ConnectionSource
  connectionProviders: OAuthProviders
  /** Undefined unless configured. Memory is then searched by words alone. */
  embedder: Embedder | undefined
  recall: Recall
  /** For URLs that agents name. */
  fetch: GuardedFetch
  /** For the URLs of webhooks. */
  webhookFetch: GuardedFetch
  live: LiveRuns
  /** Runs of other nodes, for their followers on this node. */
  remote: RemoteRuns
  /** Steps of runs on other nodes. */
  stepsElsewhere: StepsElsewhere
  /** The nodes that serve this database. */
  nodes: NodeList
  version: ProgramVersion
  earlier: EarlierTexts
  spending: Spending
  pauses: Pauses
  prices: Prices
  memo: Memo
  findProject: FindProject
  audit: AuditTrail
  /** Counts everything that has a rate limit, for all nodes together if there is Redis. */
  limiter: RateLimiter
  log: Logger
  /** Work that no request waits for. */
  errands: Errands
  telemetry: Telemetry
  /** Undefined unless the operator has configured a collector. */
  tracer: Tracer | undefined
  newId: NewId
  now(): number
  /** Aborted when the service begins to stop. Requests that only wait for something then get 503. */
  stopping: AbortSignal
  /** The name of this process among all that use the database. */
  node: string
}
