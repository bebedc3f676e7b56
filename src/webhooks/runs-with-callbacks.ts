import type { NewEvent } from '../events.ts'
import type { Storage } from '../storage/open-storage.ts'
import * as callbacks from './callback-store.ts'

const NONE: readonly string[] = []
/** When more are remembered, all are forgotten and read again: those that have ended are then left out. */
const MAX_REMEMBERED_RUNS = 10_000

/**
 * Knows which runs have callbacks, so that a run without one costs no query. It may know too many of them: a callback
 * that was deleted is not found when its run ends.
 */
export class RunsWithCallbacks {
  readonly #storage: Pick<Storage, 'db' | 'hears'>
  #requests: Set<string> | undefined
  #loading: Promise<Set<string>> | undefined

  constructor(storage: Pick<Storage, 'db' | 'hears' | 'onChange'>) {
    this.#storage = storage
    storage.onChange((change, id) => {
      if (change !== 'callbacks') return
      // What is being loaded may lack this one.
      this.#loading = undefined
      if (id === undefined || (this.#requests?.size ?? 0) >= MAX_REMEMBERED_RUNS) this.#requests = undefined
      else this.#requests?.add(id)
    })
  }

  /** The ids of the callbacks of the event's run. */
  async callbacksOf({ request_id }: NewEvent): Promise<readonly string[]> {
    if (request_id === undefined) return NONE
    const requests = (this.#storage.hears() && this.#requests) || (await this.#load())
    return requests.has(request_id) ? this.#find(request_id) : NONE
  }

  async #find(request_id: string): Promise<string[]> {
    const found = await callbacks.listOfRequest(this.#storage.db, request_id)
    return found.filter(({ status }) => status === 'enabled').map(({ id }) => id)
  }

  async #load(): Promise<Set<string>> {
    const current = (this.#loading ??= callbacks.listRequests(this.#storage.db).then((ids) => new Set(ids)))
    const loaded = await current
    if (this.#loading !== current) return loaded
    this.#loading = undefined
    if (this.#storage.hears()) this.#requests = loaded
    return loaded
  }
}
