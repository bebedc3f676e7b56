import { z } from 'zod'
import { operation } from '../operation.ts'

const Telemetry = z.strictObject({
  readings: z.array(
    z.strictObject({
      name: z.string(),
      help: z.string(),
      type: z.enum(['counter', 'gauge', 'histogram']),
      samples: z.array(
        z.strictObject({ name: z.string(), labels: z.record(z.string(), z.string()), value: z.number() }),
      ),
    }),
  ),
})

export const getTelemetry = operation({
  id: 'getTelemetry',
  method: 'GET',
  path: '/v1/telemetry',
  summary: 'Get telemetry',
  description:
    "Returns this node's own counters: requests, runs, queues, commits, caches, outgoing calls and memory. Prometheus scrapes the same data at `/metrics`.",
  access: { permission: 'manage', reach: 'operator', knownWithinMs: 400 },
  answer: { data: Telemetry },

  async run(_input, { telemetry }) {
    return { readings: await telemetry.read() }
  },
})
