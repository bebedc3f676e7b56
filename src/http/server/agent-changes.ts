import type { Scope } from '../../operation/scope.ts'
import type { Storage } from '../../storage/open-storage.ts'

type Follower = { scope: Scope; listener: () => void }

/** Tells clients that stay connected when agents that they may use have changed. */
export class AgentChanges {
  readonly #followers = new Set<Follower>()

  constructor(storage: Pick<Storage, 'onChange'>) {
    storage.onChange((change, id) => {
      if (change !== 'agents') return
      for (const { scope, listener } of this.#followers) {
        if (id === undefined || scope.agent_id === null || scope.agent_id === id) listener()
      }
    })
  }

  /** Returns a function that stops it. */
  follow(scope: Scope, listener: () => void): () => void {
    const follower = { scope, listener }
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }
}
