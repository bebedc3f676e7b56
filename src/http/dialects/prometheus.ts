import { PROMETHEUS_TYPE, prometheusText } from '../../telemetry/prometheus-text.ts'
import type { MetricReading } from '../../telemetry/telemetry.ts'
import type { Dialect, Writer } from './dialect.ts'
import { moorage, routeTo } from './moorage.ts'

const asText: Writer = {
  reply: (_operation, result) => ({
    status: 200,
    headers: { 'Content-Type': PROMETHEUS_TYPE },
    body: prometheusText((result as { readings: MetricReading[] }).readings),
  }),
  event: () => '',
  replay: () => [],
}

/** The dialect of Prometheus: this node's telemetry as text, for keys with the permission `manage`. */
export const prometheus: Dialect = {
  ...moorage,
  name: 'prometheus',
  routes: (operations) =>
    operations
      .filter(({ id }) => id === 'getTelemetry')
      .map((operation) => ({ ...routeTo(operation, prometheus, asText), path: '/metrics' })),
  owns: (path) => path === '/metrics',
}
