import type { Scope } from '../../operation/scope.ts'
import type { Storage } from '../../storage/open-storage.ts'

type Follower = { scope: Scope; listener: () => void }

/** Notifies connected clients when agents that they can use have changed. */
export class AgentChanges {
  readonly #followers = new Set<Follower>()

  constructor(storage: Pick<Storage, 'onChange'>) {
    storage.onChange((change, id) => {
      if (change !== 'agents_of_projects') return
      const [project_id, agent_id] = id?.split('/') ?? []
      for (const { scope, listener } of this.#followers) {
        const isInProject = project_id === undefined || project_id === scope.project_id
        if (isInProject && (agent_id === undefined || (scope.agent_id ?? agent_id) === agent_id)) listener()
      }
    })
  }

  /** Calls the listener after each change. Returns a function that stops it. */
  follow(scope: Scope, listener: () => void): () => void {
    const follower = { scope, listener }
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }
}
