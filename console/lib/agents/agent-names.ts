import { type Resource, useResource } from '../resource.ts'
import { service } from '../service.ts'

/** Rows have the ids of agents. So many names are loaded at most. */
const MOST = 100

/** The names of agents by their ids. An agent that is not among them is shown by its id. */
export function useAgentNames(): Resource<Map<string, string>> {
  return useResource('agent names', async (signal) => {
    const { data } = await service.agents.list({ limit: MOST, sort: 'name' }, { signal })
    return new Map(data.map(({ id, name }) => [id, name]))
  })
}
