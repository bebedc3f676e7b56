import { type Agent, type Client, MoorageError } from '../../../../sdk/client.ts'

/** Returns undefined if there is no such agent. */
export async function findAgent(client: Client, name: string): Promise<Agent | undefined> {
  try {
    return await client.agents.get(name)
  } catch (error) {
    if (error instanceof MoorageError && error.code === 'not_found') return undefined
    throw error
  }
}
