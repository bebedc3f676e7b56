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
import type { Keyring } from '../security/keyring.ts'
import type { RateLimiter } from '../security/limits/rate-limiter.ts'
import type { GuardedFetch } from '../security/outgoing/guarded-client.ts'
import type { Bytes } from '../storage/bytes/bytes.ts'
import type { Journal } from '../storage/journal/journal.ts'
import type { NodeList } from '../storage/leases/node-list.ts'
import type { Memo } from '../storage/memo.ts'
import type { Storage } from '../storage/open-storage.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Tracer } from '../telemetry/tracing.ts'
import type { AuditTrail } from './audit-trail.ts'
import type { EarlierTexts } from './earlier-texts.ts'
import type { Pauses } from './pauses.ts'
import type { FindProject, Prices } from './project-snapshot.ts'
import type { Recall } from './recall.ts'
import type { Spending } from './spending.ts'

/** How many rows each kind of data has, and how many are kept of each of the last days. */
export type StoreSizes = {
  measured_at: number
  bytes: number
  rows: Record<string, number>
  days: { day: string; invocations: number; logs: number; audit_log: number }[]
}

/** The parts that the house is built of. They are made once, in app.ts. */
export type Parts = {
  config: Config
  /** The configuration as an operator may see it. */
  settings(): readonly ShownSetting[]
  /** How much the store has. If there is much of it, as it was measured last. */
  sizes(): Promise<StoreSizes>
  storage: Storage
  /** The bytes of files. */
  bytes: Bytes
  journal: Journal
  events: Events
  keyring: Keyring
  runtime: Runtime
  /** Undefined unless configured. Memory is then searched by words alone. */
  embedder: Embedder | undefined
  recall: Recall
  /** For addresses that agents name. */
  fetch: GuardedFetch
  /** For the addresses of webhooks. */
  webhookFetch: GuardedFetch
  live: LiveRuns
  /** Runs of other nodes, for those who follow them here. */
  remote: RemoteRuns
  /** Steps of runs of other nodes. */
  stepsElsewhere: StepsElsewhere
  /** Who serves this database. */
  nodes: NodeList
  version: ProgramVersion
  earlier: EarlierTexts
  spending: Spending
  pauses: Pauses
  prices: Prices
  memo: Memo
  findProject: FindProject
  audit: AuditTrail
  /** Counts what has a rate, on all nodes together where there is a Redis. */
  limiter: RateLimiter
  log: Logger
  /** Work that no request waits for. */
  errands: Errands
  telemetry: Telemetry
  /** Undefined unless the operator has named a collector. */
  tracer: Tracer | undefined
  newId: NewId
  now(): number
  /** Aborted when the service begins to stop. Requests that only wait for something are then answered with 503. */
  stopping: AbortSignal
  /** The name of this process among all that share the database. */
  node: string
}
