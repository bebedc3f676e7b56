import type { Parts } from '../operation/parts.ts'
import { type Backlog, listBacklogs } from './store.ts'

/** Gauges of the service and its database. The three gauges of the queues share one query. */
export function addServiceGauges({ telemetry, storage, journal, live, now }: Parts): void {
  let reading: Promise<Backlog[]> | undefined
  const backlogs = (valueOf: (backlog: Backlog) => number) => async () => {
    reading ??= listBacklogs(storage.db, now()).finally(() => (reading = undefined))
    return (await reading).map((backlog) => ({ labels: { queue: backlog.queue }, value: valueOf(backlog) }))
  }
  telemetry.gauge('moorage_info', 'The database of this node', () => [{ labels: { engine: storage.engine }, value: 1 }])
  telemetry.gauge('moorage_runs_live', 'Runs under way on this node', () => live.all().length)
  telemetry.gauge('moorage_journal_waiting', 'Requests that wait for their commit', () => journal.waiting())
  telemetry.gauge(
    'moorage_queue_depth',
    'Runs, deliveries and jobs that are due and wait for a node, of all nodes',
    backlogs(({ waiting }) => waiting),
  )
  telemetry.gauge(
    'moorage_queue_oldest_seconds',
    'How long the oldest of them has waited',
    backlogs(({ oldest }) => (oldest === null ? 0 : Math.max(0, now() - oldest) / 1000)),
  )
  telemetry.gauge(
    'moorage_leases',
    'Runs, deliveries and jobs that nodes have in hand, of all nodes',
    backlogs(({ leased }) => leased),
  )
}
