import { FairLanes, type Full, type Share } from './fair-lanes.ts'

/** The clock can be changed, so it is read again after this time even if nothing is due earlier. */
const CLOCK_MS = 1_000
/** How long a lane rests after its turn failed, or after it was full and nothing of it has ended here. */
const REST_MS = 1_000
/** How long results that can't be stored are kept, because work without a result is done again. */
const KEPT_MS = 5 * 60_000
const KEPT_AT_CLOSE_MS = 3_000
/** Other nodes announce work, perhaps many times a second. The store is asked at most this often. */
const SURVEY_PAUSE_MS = 100
/** How often the store is asked without an announcement, because announcements may be lost and nodes may die. */
const SURVEY_EVERY_MS = 10_000

/** What a lane's turn has taken, and when there is more: full if the lane has reached its limit of active work. */
export type WorkBatch<Item> = { items: readonly Item[]; next: number | Full | undefined }

/** Results of a lane's ended work, and since when storing them has failed. */
type Unstored<Result> = { items: readonly Result[]; failing_since?: number }

type Options<Item, Result> = {
  share: Share
  /** Stores a lane's results, and takes up to `places` pieces of its due work. */
  serve(key: string, places: number, results: readonly Result[]): Promise<WorkBatch<Item>>
  /** Does the work that was taken. It must not reject. A result is passed to the lane's next turn. */
  run?(item: Item, key: string): Promise<Result | undefined>
  /** Which lanes have work in the store, and when it is due. */
  survey?(): Promise<readonly { key: string; due_at: number }[]>
  /** Called when a turn or a survey has failed. The results of that turn are passed to the next ones for a while. */
  failed(err: unknown): void
  now(): number
  /** Calls back after this many milliseconds, unless it is cancelled earlier. */
  callLater?: CallLater
}

type CallLater = (callback: () => void, ms: number) => () => void

const byTimeout: CallLater = (callback, ms) => {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/**
 * Does leased work: takes what is due from the store, fairly by lanes, and follows each piece to its end. All
 * background work of this node is done by such workers. What a worker has in memory can be lost at any moment: the work
 * is in the store, and the statement that takes it decides how much may be in progress.
 */
export class Worker<Item, Result = undefined> {
  readonly #options: Options<Item, Result>
  readonly #callLater: CallLater
  readonly #lanes: FairLanes
  readonly #results = new Map<string, Unstored<Result>>()
  readonly #working = new Set<Promise<void>>()
  #mode: 'open' | 'draining' | 'closed' = 'open'
  #cancelTurns: (() => void) | undefined
  #cancelSurvey: (() => void) | undefined
  /** `again` means that the survey in progress may have missed later announcements. */
  #survey: 'resting' | 'asking' | 'again' = 'resting'
  #surveyedAt = Number.NEGATIVE_INFINITY
  #soon: NodeJS.Immediate | undefined

  constructor(options: Options<Item, Result>) {
    this.#options = options
    this.#callLater = options.callLater ?? byTimeout
    this.#lanes = new FairLanes(options.share)
  }

  /** Notes that the lane has work at this time, or without a time, now. */
  wake(key: string, due_at = Number.NEGATIVE_INFINITY): void {
    if (this.#mode !== 'open') return
    this.#lanes.wake(key, due_at)
    this.#lookSoon()
  }

  /** Notes that something has ended that counts against a lane's limit. */
  freed(key: string): void {
    this.#lanes.freed(key)
    this.#lookSoon()
  }

  /** Notes whether a piece of a lane's work succeeded. Lanes that fail get less. */
  report(key: string, how: 'well' | 'failed'): void {
    this.#lanes.report(key, how)
  }

  /** Asks the store which lanes have work, now or shortly, and repeats that regularly. */
  survey(): void {
    if (this.#mode !== 'open') return
    if (this.#survey !== 'resting') this.#survey = 'again'
    else this.#surveyIn(Math.min(this.#surveyedAt + SURVEY_PAUSE_MS - this.#options.now(), SURVEY_PAUSE_MS))
  }

  /** Takes no more work. Resolves when everything in progress has ended and its results are stored. */
  async close(): Promise<void> {
    this.#mode = 'draining'
    this.#lanes.close()
    this.#cancelSurvey?.()
    do {
      this.#look()
      await Promise.all(this.#working)
    } while (this.#working.size > 0 || !this.#lanes.isIdle)
    this.#mode = 'closed'
    this.#cancelTurns?.()
    clearImmediate(this.#soon)
  }

  #surveyIn(ms: number): void {
    this.#cancelSurvey?.()
    if (ms <= 0) return this.#track(this.#askAll())
    this.#cancelSurvey = this.#callLater(() => this.#track(this.#askAll()), ms)
  }

  async #askAll(): Promise<void> {
    this.#survey = 'asking'
    this.#surveyedAt = this.#options.now()
    try {
      for (const { key, due_at } of (await this.#options.survey?.()) ?? []) this.wake(key, due_at)
    } catch (err) {
      this.#options.failed(err)
    }
    const again = (this.#survey as string) === 'again'
    this.#survey = 'resting'
    if (this.#mode === 'open') this.#surveyIn(again ? SURVEY_PAUSE_MS : SURVEY_EVERY_MS)
  }

  #lookSoon(): void {
    this.#soon ??= setImmediate(() => this.#look())
  }

  #look(): void {
    clearImmediate(this.#soon)
    this.#soon = undefined
    this.#cancelTurns?.()
    this.#cancelTurns = undefined
    const time = this.#options.now()
    for (const turn of this.#lanes.turns(time)) this.#track(this.#serve(turn))
    const pause = Math.min(this.#lanes.nextTurn(time) - time, CLOCK_MS)
    const isDue = this.#lanes.nextTurn(time) < Number.POSITIVE_INFINITY
    if (isDue && this.#mode === 'open') this.#cancelTurns = this.#callLater(() => this.#look(), pause)
  }

  async #serve(turn: { key: string; places: number }): Promise<void> {
    const { key, places } = turn
    const { serve, failed, now } = this.#options
    const results = this.#results.get(key) ?? { items: [] }
    this.#results.delete(key)
    let taken: WorkBatch<Item>
    let store_at: number | undefined
    try {
      taken = await serve(key, places, results.items)
    } catch (err) {
      failed(err)
      taken = { items: [], next: now() + REST_MS }
      store_at = await this.#keep(key, results)
    }
    this.#lanes.served(turn, { begun: taken.items.length, next: taken.next, store_at }, now() + REST_MS)
    for (const item of taken.items) this.#track(this.#run(item, key))
    this.#lookSoon()
  }

  /** Keeps results that couldn't be stored. Returns when to try it again, or undefined if they are given up. */
  async #keep(key: string, { items, failing_since }: Unstored<Result>): Promise<number | undefined> {
    const time = this.#options.now()
    const since = failing_since ?? time
    const isOpen = this.#mode === 'open'
    if (items.length === 0 || time - since >= (isOpen ? KEPT_MS : KEPT_AT_CLOSE_MS)) return undefined
    this.#results.set(key, { items: [...items, ...(this.#results.get(key)?.items ?? [])], failing_since: since })
    if (isOpen) return time + REST_MS
    await new Promise<void>((resolve) => this.#callLater(resolve, REST_MS))
    return time
  }

  async #run(item: Item, key: string): Promise<void> {
    const result = await this.#options.run?.(item, key)
    if (result !== undefined) {
      const { items, ...known } = this.#results.get(key) ?? { items: [] }
      this.#results.set(key, { ...known, items: [...items, result] })
    }
    this.#lanes.ended(key, result !== undefined)
    this.#lookSoon()
  }

  /** The stop waits for all tracked work. */
  #track(work: Promise<void>): void {
    this.#working.add(work)
    work.finally(() => this.#working.delete(work))
  }
}
