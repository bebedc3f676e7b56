import { type Resource, useResource } from '../resource.ts'
import { service } from '../service.ts'

/** Rows have the ids of agents. This many names are loaded at most, a hundred with each request. */
const MOST = 1_000
const AT_ONCE = 100

/** The names of agents by their ids. An agent that is not among them is shown by its id. */
export function useAgentNames(isWanted = true): Resource<Map<string, string>> {
  return useResource(isWanted ? 'agent names' : undefined, async (signal) => {
    const names = new Map<string, string>()
    for (let offset = 0; offset < MOST; offset += AT_ONCE) {
      const { data, pagination } = await service.agents.list({ limit: AT_ONCE, offset, sort: 'name' }, { signal })
      for (const { id, name } of data) names.set(id, name)
      if (!pagination.has_more) break
    }
    return names
  })
}
