import type { Reading } from '../../telemetry/instruments.ts'
import { PROMETHEUS_TYPE, prometheusText } from '../../telemetry/prometheus-text.ts'
import type { Dialect } from './dialect.ts'
import { moorage } from './moorage.ts'

/** The dialect of Prometheus: the telemetry of this node as text, for a key that may manage. */
export const prometheus: Dialect = {
  ...moorage,
  name: 'prometheus',
  routes: (operations) =>
    moorage
      .routes(operations.filter(({ id }) => id === 'getTelemetry'))
      .map((route) => ({ ...route, dialect: prometheus, path: '/metrics' })),
  reply: (_operation, result) => ({
    status: 200,
    headers: { 'Content-Type': PROMETHEUS_TYPE },
    body: prometheusText((result as { readings: Reading[] }).readings),
  }),
}
