import { within } from '../lib/work/within.ts'

/**
 * One number of an instrument. Its name is the instrument's name; that of a histogram also has `_bucket`, `_sum` or
 * `_count`.
 */
export type Sample = { name: string; labels: Record<string, string>; value: number }

export type MetricReading = {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram'
  samples: Sample[]
}

export type Cell = { readonly values: readonly string[]; count: number }

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
const ENTRIES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** A gauge that takes longer is left out, so that a database that hangs does not hide everything else. */
const READ_WITHIN_MS = 600

type LabelledSample = Omit<Sample, 'name'>
type Gauge = {
  name: string
  help: string
  type: 'gauge' | 'counter'
  read(): number | LabelledSample[] | Promise<number | LabelledSample[]>
}

/**
 * What this process counts about itself, for its operators. Labels have few values: an operation, a status, a kind, one of
 * the ten busiest projects; never an agent, a user or a key.
 */
export class Telemetry {
  readonly requests = new Counter('moorage_http_requests_total', 'Requests answered', ['operation', 'status'])
  readonly requestSeconds = new Buckets(
    'moorage_http_request_duration_seconds',
    "Time from a request's arrival to its reply",
    SECONDS,
    ['operation'],
  )
  readonly runs = new Counter('moorage_runs_total', 'Invocations that ended on this node, by the kind of agent', [
    'status',
    'kind',
  ])
  readonly projectRuns = new BusiestCounter(
    'moorage_project_runs_total',
    'Invocations that ended on this node, of the ten projects with the most',
    'project',
  )
  readonly projectLimited = new BusiestCounter(
    'moorage_project_limited_total',
    'Requests answered with 429 on this node, of the ten projects with the most',
    'project',
  )
  readonly tokens = new Counter('moorage_tokens_total', 'Tokens read and written by models', ['direction'])
  readonly modelTokens = new Counter(
    'moorage_model_tokens_total',
    'Tokens by provider and model; models beyond the first 100 are counted as one',
    ['provider', 'model', 'direction'],
  )
  readonly modelCost = new Counter('moorage_model_cost_usd_total', 'Cost of model calls, if the price is known', [
    'provider',
    'model',
  ])
  readonly modelUnpriced = new Counter('moorage_model_unpriced_calls_total', 'Model calls without a known price', [
    'provider',
    'model',
  ])
  readonly batchEntries = new Buckets('moorage_journal_batch_entries', 'Requests that shared a commit', ENTRIES)
  readonly batchSeconds = new Buckets('moorage_journal_commit_duration_seconds', 'Time of a commit', SECONDS)
  readonly lookups = new Counter('moorage_cache_lookups_total', 'Cache lookups', ['cache', 'result'])
  readonly outgoing = new Counter('moorage_outgoing_calls_total', 'Calls to other services', ['kind', 'result'])
  readonly outgoingSeconds = new Buckets(
    'moorage_outgoing_call_duration_seconds',
    'Duration of calls to other services',
    SECONDS,
    ['kind'],
  )
  readonly takeovers = new Counter(
    'moorage_takeovers_total',
    'Runs, deliveries and jobs of failed nodes that this node took over',
    ['kind'],
  )
  readonly ticks = new Counter('moorage_schedule_ticks_total', 'Scheduled runs, by outcome', ['result'])
  readonly incoming = new Counter('moorage_trigger_requests_total', 'Requests to triggers, by outcome', ['outcome'])
  readonly answers = new Counter(
    'moorage_chat_answers_total',
    'Attempts to send answers to conversations, by outcome',
    ['outcome'],
  )
  readonly refusedConnections = new Counter(
    'moorage_refused_connections_total',
    'Connections refused because the process had no file handles left',
  )
  readonly #gauges: Gauge[] = []

  constructor() {
    // Prometheus sees a counter grow only if it has read the number before. Alerts need the first event of these.
    this.refusedConnections.add(0)
    for (const kind of ['run', 'delivery', 'job']) this.takeovers.add(0, kind)
    for (const result of ['run', 'missed', 'skipped']) this.ticks.add(0, result)
    for (const outcome of ['sent', 'refused', 'failed']) this.answers.add(0, outcome)
    for (const outcome of ['accepted', 'repeated', 'filtered', 'refused', 'failed']) this.incoming.add(0, outcome)
  }

  countRun(status: string, kind: string, project_id: string): void {
    this.runs.add(1, status, kind)
    this.projectRuns.add(project_id)
  }

  readonly countCommit = (entries: number, ms: number): void => {
    this.batchEntries.add(entries)
    this.batchSeconds.add(ms / 1000)
  }

  /** A value that is read whenever the metrics are asked for. */
  gauge(name: string, help: string, read: Gauge['read']): void {
    this.#gauges.push({ name, help, type: 'gauge', read })
  }

  /** The same for something that only grows. */
  total(name: string, help: string, read: () => number): void {
    this.#gauges.push({ name, help, type: 'counter', read })
  }

  async read(): Promise<MetricReading[]> {
    const counted = Object.values(this)
      .filter(
        (instrument) =>
          instrument instanceof Counter || instrument instanceof Buckets || instrument instanceof BusiestCounter,
      )
      .map((instrument) => instrument.read())
    const gauges = this.#gauges.map(async ({ name, help, type, read }): Promise<MetricReading> => {
      const reading = Promise.resolve().then(read)
      // If a gauge can't be read, for example because the database is unavailable, the others are still reported.
      const found = await within(READ_WITHIN_MS, reading, () => new Error(`${name} was not read in time`)).catch(
        () => [],
      )
      const values = typeof found === 'number' ? [{ labels: {}, value: found }] : found
      return { name, help, type, samples: values.map((sample) => ({ name, ...sample })) }
    })
    return [...counted, ...(await Promise.all(gauges))]
  }
}

/** Counts events. Each combination of label values has its own number, so there must be few combinations. */
class Counter {
  readonly #name: string
  readonly #help: string
  readonly #labels: readonly string[]
  readonly #cells = new Map<string, Cell>()

  constructor(name: string, help: string, labels: readonly string[] = []) {
    this.#name = name
    this.#help = help
    this.#labels = labels
  }

  add(count: number, ...values: string[]): void {
    this.cell(...values).count += count
  }

  /** The number for these label values, for code that counts often. */
  cell(...values: string[]): Cell {
    const key = values.join('\n')
    let cell = this.#cells.get(key)
    if (!cell) {
      cell = { values, count: 0 }
      this.#cells.set(key, cell)
    }
    return cell
  }

  read(): MetricReading {
    const name = this.#name
    const samples = [...this.#cells.values()].map(({ values, count }) => ({
      name,
      labels: labelled(this.#labels, values),
      value: count,
    }))
    return { name, help: this.#help, type: 'counter', samples }
  }
}

/** How many owners a counter of the busiest names. */
const BUSIEST = 10

/** Counts by owner. There can be thousands of owners, so only the busiest since the start are named. */
class BusiestCounter {
  readonly #name: string
  readonly #help: string
  readonly #label: string
  readonly #counts = new Map<string, number>()

  constructor(name: string, help: string, label: string) {
    this.#name = name
    this.#help = help
    this.#label = label
  }

  add(owner: string): void {
    this.#counts.set(owner, (this.#counts.get(owner) ?? 0) + 1)
  }

  read(): MetricReading {
    const name = this.#name
    const samples = busiest(this.#counts).map(([owner, value]) => ({ name, labels: { [this.#label]: owner }, value }))
    return { name, help: this.#help, type: 'counter', samples }
  }
}

export function busiest(counts: Iterable<readonly [string, number]>): (readonly [string, number])[] {
  return [...counts].toSorted(([, one], [, other]) => other - one).slice(0, BUSIEST)
}

type Distribution = { values: string[]; counts: number[]; sum: number }

/** Counts sizes, in buckets. */
class Buckets {
  readonly #name: string
  readonly #help: string
  /** The upper limits of the buckets, ascending. The last bucket has no limit. */
  readonly #ends: readonly number[]
  readonly #labels: readonly string[]
  readonly #found = new Map<string, Distribution>()

  constructor(name: string, help: string, ends: readonly number[], labels: readonly string[] = []) {
    this.#name = name
    this.#help = help
    this.#ends = ends
    this.#labels = labels
  }

  add(size: number, ...values: string[]): void {
    const key = values.join('\n')
    let distribution = this.#found.get(key)
    if (!distribution) {
      distribution = { values, counts: Array.from({ length: this.#ends.length + 1 }, () => 0), sum: 0 }
      this.#found.set(key, distribution)
    }
    let bucket = 0
    while (bucket < this.#ends.length && size > (this.#ends[bucket] as number)) bucket++
    distribution.counts[bucket] = (distribution.counts[bucket] as number) + 1
    distribution.sum += size
  }

  /** In the form of Prometheus: each bucket counts everything up to its limit. */
  read(): MetricReading {
    const name = this.#name
    const samples = [...this.#found.values()].flatMap(({ values, counts, sum }) => {
      const labels = labelled(this.#labels, values)
      let count = 0
      const buckets = counts.map((inBucket, index) => {
        count += inBucket
        const le = String(this.#ends[index] ?? '+Inf')
        return { name: `${name}_bucket`, labels: { ...labels, le }, value: count }
      })
      return [...buckets, { name: `${name}_sum`, labels, value: sum }, { name: `${name}_count`, labels, value: count }]
    })
    return { name, help: this.#help, type: 'histogram', samples }
  }
}

function labelled(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']))
}
