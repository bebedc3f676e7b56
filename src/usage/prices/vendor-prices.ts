import { Worker } from 'node:worker_threads'
import type { ConditionalPrice, ModelPrice } from '@pydantic/genai-prices'
import { LRUCache } from 'lru-cache'
import project from '../../../package.json' with { type: 'json' }
import type { Price, Rates, Tier } from '../../operation/project-snapshot.ts'
import type { ListedPrice, VendorModel } from './vendor-prices-worker.ts'

const REMEMBERED_MODELS = 2_000

const { '@pydantic/genai-prices': version } = project.dependencies

/** The vendors in the list have host names. No other URL is looked up in it, so that it doesn't have to be read. */
const VENDOR = /^https:\/\/[^/]*\.[a-z]+(?::\d+)?(?:\/|$)/i

/** The prices of public vendors, by a provider's URL. They are part of the program and are never fetched. */
export class VendorPrices {
  readonly #known = new LRUCache<string, Promise<ListedPrice>>({ max: REMEMBERED_MODELS })

  async find(model: VendorModel, time: number): Promise<Price | undefined> {
    const listed = await (this.#known.get(keyOf(model)) ?? this.#read([model])[0])
    return listed ? priceOf(listedAt(listed, time)) : undefined
  }

  /** Reads the list once for all of them. */
  prepare(models: readonly VendorModel[]): void {
    const unknown = models.filter((model) => !this.#known.has(keyOf(model)))
    if (unknown.length > 0) this.#read(unknown)
  }

  #read(models: readonly VendorModel[]): Promise<ListedPrice>[] {
    const wanted = models.filter(({ url }) => VENDOR.test(url))
    const answered = wanted.length === 0 ? Promise.resolve([]) : readList(wanted)
    return models.map((model) => {
      const key = keyOf(model)
      const listed = answered.then((all) => all[wanted.indexOf(model)] ?? null)
      // If the list couldn't be read, it is read again the next time.
      listed.catch(() => this.#known.delete(key))
      this.#known.set(key, listed)
      return listed
    })
  }
}

function keyOf({ url, id }: VendorModel): string {
  return `${url} ${id}`
}

function readList(wanted: readonly VendorModel[]): Promise<ListedPrice[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./vendor-prices-worker.ts', import.meta.url), { workerData: wanted })
    worker.once('message', resolve)
    worker.once('error', reject)
    worker.once('exit', () => reject(new Error('the built-in list of prices could not be read')))
  })
}

const KEYS = {
  input: 'input_mtok',
  cached_input: 'cache_read_mtok',
  cache_write: 'cache_write_mtok',
  output: 'output_mtok',
  reasoning: 'output_reasoning_mtok',
} as const

const PER_THOUSAND = 1_000

const prices = new WeakMap<ModelPrice, Price | undefined>()

/** Undefined if the list prices anything other than tokens and requests. */
function priceOf(listed: ModelPrice): Price | undefined {
  const known = prices.get(listed)
  if (known || prices.has(listed)) return known
  const price = KEYS.input in listed || KEYS.output in listed || 'requests_kcount' in listed ? read(listed) : undefined
  prices.set(listed, price)
  return price
}

function read(listed: ModelPrice): Price {
  const starts = Object.values(listed).flatMap((value) => tiersOf(value).map(({ start }) => start))
  const tiers: Tier[] = [...new Set(starts)]
    .toSorted((a, b) => a - b)
    .map((above) => ({ above, ...ratesAbove(listed, above) }))
  return { source: 'genai-prices', version, rates: ratesAbove(listed, -1), tiers }
}

/** The rates of a request that is longer than that. */
function ratesAbove(listed: ModelPrice, above: number): Rates {
  const rate = (key: string) => {
    const value = listed[key]
    if (typeof value !== 'object') return value
    return tiersOf(value).findLast(({ start }) => start <= above)?.price ?? value.base
  }
  const input = rate(KEYS.input) ?? 0
  const output = rate(KEYS.output) ?? 0
  const cached_input = rate(KEYS.cached_input) ?? input
  const cache_write = rate(KEYS.cache_write) ?? input
  const reasoning = rate(KEYS.reasoning) ?? output
  return { input, cached_input, cache_write, output, reasoning, request: (rate('requests_kcount') ?? 0) / PER_THOUSAND }
}

function tiersOf(value: ModelPrice[string]) {
  return typeof value === 'object' ? value.tiers.toSorted((a, b) => a.start - b.start) : []
}

const DAY_MS = 86_400_000

/** The price at a certain time: the last one whose condition is true, as the list intends. */
export function listedAt(listed: NonNullable<ListedPrice>, time: number): ModelPrice {
  if (!Array.isArray(listed)) return listed
  const holding = listed.findLast(({ constraint }) => constraint === undefined || holds(constraint, time))
  return (holding ?? listed[0])?.prices ?? {}
}

function holds(constraint: NonNullable<ConditionalPrice['constraint']>, time: number): boolean {
  if (constraint.type === 'start_date') return time >= Date.parse(constraint.start_date)
  const now = time % DAY_MS
  const [from, to] = [timeOfDay(constraint.start_time), timeOfDay(constraint.end_time)]
  return to < from ? now >= from || now < to : now >= from && now < to
}

/** In UTC. The text may have an offset, as in `16:30:00Z`. */
function timeOfDay(text: string): number {
  const hasZone = /(?:Z|[+-]\d\d:\d\d)$/.test(text)
  const time = Date.parse(`1970-01-02T${text}${hasZone ? '' : 'Z'}`)
  return ((time % DAY_MS) + DAY_MS) % DAY_MS
}
