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
  rss_mb: number
  started_ms: number
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
      'RSS MB': Math.round(result.rss_mb),
      'start ms': Math.round(result.started_ms),
      failed: result.failed,
    },
  ])
  console.table(Object.fromEntries(orderedRows))

  function orderOf({ name, engine }: Result): number {
    return results.findIndex((result) => result.name === name && result.engine === engine)
  }
}
