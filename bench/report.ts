export type Result = {
  group: string
  name: string
  engine: string
  /** `this` checkout, or the one that it is measured `against`. */
  checkout: string
  of_bare: number
  per_second: number
  p50_ms: number
  p99_ms: number
  cpu_us: number
  /**
   * The share of the time in which the server's main thread ran or waited for a core, and the same for the thread that
   * sends the load. If the load has no time left, a latency says how long the load took, not the server.
   */
  busy: number
  load_busy: number
  /** Its processor time as a share of what the hand-written proxy takes; null where that says nothing. */
  of_floor: number | null
  /** After the load, and before it. */
  rss_mb: number
  idle_mb: number
  started_ms: number
  /** What one request adds to a SQLite store, in bytes; null where it is not measured. */
  disk_bytes: number | null
  /** How many times the p50 of the same request with less in the store. */
  growth: number | null
  failed: number
}

/** With another checkout, its results stand below those of this one. */
export function printReport(results: Result[]): void {
  const compared = results.some(({ checkout }) => checkout !== 'this')
  const ordered = results.toSorted((a, b) => orderOf(a) - orderOf(b))
  const orderedRows = ordered.map((result) => [
    `${result.name}, ${result.engine}${compared ? ` (${result.checkout})` : ''}`,
    {
      'of bare': result.of_bare.toFixed(3),
      'per second': Math.round(result.per_second),
      'p50 ms': result.p50_ms.toFixed(2),
      'p99 ms': result.p99_ms.toFixed(1),
      'CPU µs': Math.round(result.cpu_us),
      'busy %': Math.round(result.busy * 100),
      'load busy %': Math.round(result.load_busy * 100),
      ...(result.of_floor !== null && { 'of proxy': result.of_floor.toFixed(2) }),
      'RSS MB': Math.round(result.rss_mb),
      'idle MB': Math.round(result.idle_mb),
      'start ms': Math.round(result.started_ms),
      ...(result.disk_bytes !== null && { 'disk B': Math.round(result.disk_bytes) }),
      ...(result.growth !== null && { 'of the smaller': `× ${result.growth.toFixed(2)}` }),
      failed: result.failed,
    },
  ])
  console.table(Object.fromEntries(orderedRows))

  function orderOf({ name, engine }: Result): number {
    return results.findIndex((result) => result.name === name && result.engine === engine)
  }
}
