import { statfs } from 'node:fs/promises'
import type { Parts } from '../operation/parts.ts'
import * as projects from '../projects/store.ts'
import type { WriteProbe } from '../storage/health/write-probe.ts'
import { busiest } from '../telemetry/telemetry.ts'
import { type Backlog, countDisabledWebhooks, listBacklogs } from './store.ts'

type GaugeParts = Pick<Parts, 'config' | 'journal' | 'live' | 'now' | 'storage' | 'telemetry' | 'version'>

/** Gauges of the service and its database. The three gauges of the queues share one query. */
export function addServiceGauges(parts: GaugeParts, probe: WriteProbe): void {
  const { telemetry, storage, journal, live, now } = parts
  let reading: Promise<Backlog[]> | undefined
  const backlogs = (valueOf: (backlog: Backlog) => number) => async () => {
    reading ??= listBacklogs(storage.db, now()).finally(() => (reading = undefined))
    return (await reading).map((backlog) => ({ labels: { queue: backlog.queue }, value: valueOf(backlog) }))
  }
  const { version, commit } = parts.version
  const labels = { version, commit: commit ?? '', node_version: process.versions.node, engine: storage.engine }
  telemetry.gauge('moorage_info', "This node's version, commit, Node.js version and database engine", () => [
    { labels, value: 1 },
  ])
  addDatabaseGauges(parts, probe)
  telemetry.gauge('moorage_runs_live', 'Active runs on this node', () => live.all().length)
  telemetry.gauge('moorage_journal_waiting', 'Requests waiting for their commit', () => journal.waiting())
  telemetry.gauge(
    'moorage_queue_depth',
    'Runs, deliveries and jobs that are due and waiting for a node, on all nodes',
    backlogs(({ waiting }) => waiting),
  )
  telemetry.gauge(
    'moorage_queue_oldest_seconds',
    'How long the oldest due run, delivery or job has waited',
    backlogs(({ oldest }) => (oldest === null ? 0 : Math.max(0, now() - oldest) / 1000)),
  )
  telemetry.gauge(
    'moorage_leases',
    'Runs, deliveries and jobs in progress, on all nodes',
    backlogs(({ leased }) => leased),
  )
}

function addDatabaseGauges({ telemetry, storage, config }: GaugeParts, probe: WriteProbe): void {
  telemetry.gauge('moorage_database_up', 'Whether the database accepts writes', async () => Number(await probe.isUp()))
  telemetry.gauge('moorage_database_connections', 'PostgreSQL connections, or SQLite reader threads', () => {
    const { busy, idle } = storage.pool()
    return Object.entries({ busy, idle }).map(([state, value]) => ({ labels: { state }, value }))
  })
  telemetry.gauge(
    'moorage_database_waiting',
    'Queries waiting for a connection or a reader thread',
    () => storage.pool().waiting,
  )
  telemetry.gauge('moorage_webhooks_disabled', 'Webhooks that were disabled because they failed', () =>
    countDisabledWebhooks(storage.db),
  )
  telemetry.gauge(
    'moorage_project_stored_bytes',
    'Stored bytes of the ten largest projects with limits.stored_bytes, as last measured',
    async () => {
      const measured = (await projects.listMeasured(storage.db)).map(
        ({ id, stored_bytes }) => [id, stored_bytes ?? 0] as const,
      )
      return busiest(measured).map(([id, value]) => ({ labels: { project: id }, value }))
    },
  )
  telemetry.gauge('moorage_disk_size_bytes', 'Size of the disk with the data folder', async () => {
    const { bsize, blocks } = await statfs(config.data)
    return bsize * blocks
  })
  telemetry.gauge('moorage_disk_free_bytes', 'Free space on the disk with the data folder', async () => {
    const { bsize, bavail } = await statfs(config.data)
    return bsize * bavail
  })
}
