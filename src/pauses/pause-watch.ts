import type { Pause, Pauses } from '../operation/pauses.ts'
import { Cancellation, type WatchedPause } from '../runtime/deadline.ts'
import type { Database } from '../storage/database.ts'
import type { Memo } from '../storage/memo.ts'
import type { Storage } from '../storage/open-storage.ts'
import * as store from './store.ts'

type Work = { project_id: string; paused: Cancellation }

/** What is paused, from memory until it changes, and the work on this node that a pause stops. */
export class PauseWatch implements Pauses {
  readonly #memo: Memo
  readonly #storage: Storage
  readonly #underWay = new Set<Work>()

  constructor({ memo, storage }: { memo: Memo; storage: Storage }) {
    this.#memo = memo
    this.#storage = storage
  }

  async list(): Promise<readonly Pause[]> {
    return (await this.#memo('pauses', 'all', () => store.list(this.#storage.db))) ?? []
  }

  async find(project_id: string, db?: Database): Promise<Pause | undefined> {
    return pauseOf(db ? await store.list(db) : await this.list(), project_id)
  }

  async watch(project_id: string): Promise<WatchedPause> {
    const work = { project_id, paused: new Cancellation() }
    const release = () => this.#underWay.delete(work)
    // It is added first: a pause that begins while the store is asked stops it too.
    this.#underWay.add(work)
    try {
      if (await this.find(project_id)) work.paused.cancel()
    } catch (error) {
      release()
      throw error
    }
    return { paused: work.paused, release }
  }

  /** All that a pause stops hears of it at the same moment. What begins meanwhile asks for itself: this list may be older. */
  async check(): Promise<void> {
    const underWay = [...this.#underWay]
    const pauses = await this.list()
    for (const { project_id, paused } of underWay) if (pauseOf(pauses, project_id)) paused.cancel()
  }
}

function pauseOf(pauses: readonly Pause[], project_id: string): Pause | undefined {
  const ofService = pauses.find((pause) => pause.project_id === null)
  return ofService ?? pauses.find((pause) => pause.project_id === project_id)
}
