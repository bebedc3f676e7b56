import type { Client } from '../../../sdk/client.ts'

/** Returns an agent's name. If the agent is deleted, or the key may not see it, returns the ID. */
export type NameOf = (agent_id: string) => string

/** If more agents than this are needed, whole pages are loaded instead of single agents. */
const ONE_BY_ONE = 10

/** Finds the names of the agents in a list. */
export async function agentNames(client: Client, mentioned: readonly (string | null)[]): Promise<NameOf> {
  const ids = [...new Set(mentioned)].filter((id) => id?.startsWith('agt_')) as string[]
  const names = new Map<string, string>()
  try {
    if (ids.length > ONE_BY_ONE)
      for await (const { id, name } of client.agents.list({ limit: 100 })) names.set(id, name)
    else await Promise.all(ids.map((id) => learn(id)))
  } catch {
    // Without a name, the ID is shown.
  }
  return (id) => names.get(id) ?? id

  async function learn(id: string): Promise<void> {
    const agent = await client.agents.get(id).catch(() => undefined)
    if (agent) names.set(id, agent.name)
  }
}
