import type { Pause, Pauses } from '../operation/pauses.ts'
import type { FindProject } from '../operation/project-snapshot.ts'
import { Cancellation, type WatchedPause } from '../runtime/deadline.ts'
import type { Database } from '../storage/database.ts'
import type { Storage } from '../storage/open-storage.ts'
import * as store from './store.ts'

type Work = { project_id: string; paused: Cancellation }

/** What is paused, from memory until it changes, and the work on this node that a pause stops. */
export class PauseWatch implements Pauses {
  readonly #findProject: FindProject
  readonly #storage: Pick<Storage, 'db'>
  readonly #underWay = new Set<Work>()

  constructor({ findProject, storage }: { findProject: FindProject; storage: Pick<Storage, 'db'> }) {
    this.#findProject = findProject
    this.#storage = storage
  }

  async find(project_id: string, db?: Database): Promise<Pause | undefined> {
    const project = db ? undefined : await this.#findProject(project_id)
    return project ? project.pause : store.find(db ?? this.#storage.db, project_id)
  }

  async watch(project_id: string): Promise<WatchedPause> {
    const work = { project_id, paused: new Cancellation() }
    const release = () => this.#underWay.delete(work)
    // It is added first, so a pause that begins while the store is asked stops it too.
    this.#underWay.add(work)
    try {
      const project = await this.#findProject(project_id)
      if (project ? project.pause : await this.find(project_id)) work.paused.cancel()
    } catch (error) {
      release()
      throw error
    }
    return { paused: work.paused, release }
  }

  /**
   * Everything that a pause stops is notified at the same moment. What starts meanwhile asks for itself, because this
   * list may be older.
   */
  async check(): Promise<void> {
    const underWay = [...this.#underWay]
    const pauses = await store.list(this.#storage.db)
    for (const { project_id, paused } of underWay) if (store.pauseOf(pauses, project_id)) paused.cancel()
  }
}
