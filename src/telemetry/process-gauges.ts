import { readdir } from 'node:fs/promises'
import { totalmem } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { mostOpenFiles } from './open-files.ts'
import type { Telemetry } from './telemetry.ts'

/** Not `quantile`: that label is of summaries. */
const STATS = { p50: 50, p99: 99, max: 100 }
/** How often Node looks. An event loop without delay is measured as this. */
const LOOK_EVERY_MS = 10

/** Gauges of the Node process. The delay of the event loop is measured from the first read on. */
export function addProcessGauges(telemetry: Telemetry, now: () => number): () => void {
  const started = now() / 1000 - process.uptime()
  let delay: ReturnType<typeof monitorEventLoopDelay> | undefined
  telemetry.gauge('process_start_time_seconds', 'When the process started', () => started)
  telemetry.total('process_cpu_seconds_total', 'Processor time used', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  telemetry.gauge('process_resident_memory_bytes', 'Resident memory', () => process.memoryUsage.rss())
  telemetry.gauge(
    'moorage_memory_limit_bytes',
    "Memory that the process can use: its container's limit, or the machine's memory",
    () => Math.min(totalmem(), process.constrainedMemory() || Infinity),
  )
  // Only Linux reports these two. Elsewhere they are left out.
  telemetry.gauge('process_open_fds', 'Open file handles', async () => (await readdir('/proc/self/fd')).length)
  telemetry.gauge('process_max_fds', 'Maximum file handles', () => mostOpenFiles() ?? [])
  telemetry.gauge('nodejs_heap_used_bytes', 'Heap memory of JavaScript', () => process.memoryUsage().heapUsed)
  telemetry.gauge('nodejs_eventloop_delay_seconds', 'Event loop delay since the last scrape', () => {
    if (!delay) {
      delay = monitorEventLoopDelay({ resolution: LOOK_EVERY_MS })
      delay.enable()
    }
    const samples = Object.entries(STATS).map(([stat, percentile]) => ({
      labels: { stat },
      value: delay && delay.count > 0 ? Math.max(0, delay.percentile(percentile) / 1e6 - LOOK_EVERY_MS) / 1000 : 0,
    }))
    delay.reset()
    return samples
  })
  return () => delay?.disable()
}
