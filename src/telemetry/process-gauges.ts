import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Telemetry } from './telemetry.ts'

const QUANTILES = [50, 99, 100]

/** Gauges of the Node process. The delay of the event loop is measured from the first read on. */
export function addProcessGauges(telemetry: Telemetry, now: () => number): () => void {
  const started = now() / 1000 - process.uptime()
  let delay: ReturnType<typeof monitorEventLoopDelay> | undefined
  telemetry.gauge('process_start_time_seconds', 'When the process started', () => started)
  telemetry.gauge('process_cpu_seconds', 'Processor time used', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  telemetry.gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
  telemetry.gauge('nodejs_heap_used_bytes', 'Memory of JavaScript objects', () => process.memoryUsage().heapUsed)
  telemetry.gauge('nodejs_eventloop_delay_seconds', 'Delay of the event loop since somebody last asked', () => {
    if (!delay) {
      delay = monitorEventLoopDelay({ resolution: 10 })
      delay.enable()
    }
    const samples = QUANTILES.map((quantile) => ({
      labels: { quantile: String(quantile / 100) },
      value: (delay?.count ?? 0) > 0 ? (delay?.percentile(quantile) ?? 0) / 1e9 : 0,
    }))
    delay.reset()
    return samples
  })
  return () => delay?.disable()
}
