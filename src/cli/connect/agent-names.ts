import type { Client } from '../../../sdk/client.ts'

/** Shows an agent by its name, where people read; by its id if it is gone, or the key may not see it. */
export type NameOf = (agent_id: string) => string

/** More agents than this are asked for by the page. */
const ONE_BY_ONE = 10

/** Finds the names of the agents that a list tells of by their ids. */
export async function agentNames(client: Client, mentioned: readonly (string | null)[]): Promise<NameOf> {
  const ids = [...new Set(mentioned)].filter((id) => id?.startsWith('agt_')) as string[]
  const names = new Map<string, string>()
  try {
    if (ids.length > ONE_BY_ONE)
      for await (const { id, name } of client.agents.list({ limit: 100 })) names.set(id, name)
    else await Promise.all(ids.map((id) => learn(id)))
  } catch {
    // An id will do where a name cannot be had.
  }
  return (id) => names.get(id) ?? id

  async function learn(id: string): Promise<void> {
    const agent = await client.agents.get(id).catch(() => undefined)
    if (agent) names.set(id, agent.name)
  }
}
