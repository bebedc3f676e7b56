import { type Resource, useResource } from '../resource.ts'
import { service } from '../service.ts'
import { may } from '../session-state.ts'

/** Rows contain agents' IDs. If there are more agents than this, the others are shown by ID. */
const MAX_NAMES = 1_000
const NAMES_PER_REQUEST = 100

/** The agents' names by ID. An agent that isn't included is shown by its ID. */
export function useAgentNames(isWanted = true): Resource<Map<string, string>> {
  return useResource(isWanted && may('listAgents') ? 'agent names' : undefined, async (signal) => {
    const names = new Map<string, string>()
    for (let offset = 0; offset < MAX_NAMES; offset += NAMES_PER_REQUEST) {
      const { data, pagination } = await service.agents.list(
        { limit: NAMES_PER_REQUEST, offset, sort: 'name' },
        { signal },
      )
      for (const { id, name } of data) names.set(id, name)
      if (!pagination.has_more) break
    }
    return names
  })
}
