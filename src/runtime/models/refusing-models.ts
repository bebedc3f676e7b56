import { LRUCache } from 'lru-cache'

const REMEMBERED_MS = 600_000
const REMEMBERED_MODELS = 256

/**
 * Models whose provider has refused a feature, such as schemas or images. After a while, the feature is tried again.
 */
export class Refusals {
  readonly #now: () => number
  readonly #refused = new LRUCache<string, number>({ max: REMEMBERED_MODELS })

  constructor(now: () => number) {
    this.#now = now
  }

  takes(model: string): boolean {
    return (this.#refused.get(model) ?? 0) <= this.#now()
  }

  refused(model: string): void {
    this.#refused.set(model, this.#now() + REMEMBERED_MS)
  }
}
