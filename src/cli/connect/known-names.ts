import { type Agent, type Client, MoorageError } from '../../../sdk/client.ts'
import { nearest } from '../../lib/text/nearest.ts'
import { EXIT, Failure } from '../failure.ts'

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

/** Returns undefined if there is no such agent. */
export async function findAgent(client: Client, name: string): Promise<Agent | undefined> {
  try {
    return await client.agents.get(name)
  } catch (error) {
    if (error instanceof MoorageError && error.code === 'not_found') return undefined
    throw error
  }
}

/**
 * Returns the name of the project that something belongs to. Undefined if there is only one project, which needn't be
 * named.
 */
export type PlaceOf = (project_id: string | null) => string | undefined

/** Finds the projects' names. A project that the key may not see is shown by its ID. */
export async function projectNames(client: Client): Promise<PlaceOf> {
  const names = new Map<string, string>()
  try {
    for await (const { id, name } of client.projects.list({ limit: 100 })) names.set(id, name)
  } catch {
    // Without a name, the ID is shown.
  }
  return (id) => {
    if (names.size === 1 && (id === null || names.has(id))) return undefined
    return id === null ? 'all projects' : (names.get(id) ?? id)
  }
}

/** `prj_… (shop)`: the ID, and the name if it is known. */
export function withProjectName(id: string, placeOf: PlaceOf): string {
  const name = placeOf(id)
  return name === undefined || name === id ? id : `${id} (${name})`
}

const MISSING_AGENT = /^Agent "([^"]+)" not found\.?$/
const MOST_AGENTS = 1000

/** If no agent has the name, adds the name that was probably meant to the error. */
export async function withSuggestion(client: Client, error: unknown): Promise<unknown> {
  if (!(error instanceof MoorageError)) return error
  const [, name] = MISSING_AGENT.exec(error.message) ?? []
  if (name === undefined || name.startsWith('agt_')) return error
  // If the agents can't be listed, only the original error is shown.
  const meant = await listedNames(client).then(
    (names) => nearest(name, names),
    () => undefined,
  )
  return meant === undefined ? error : new Failure(EXIT.notFound, error.message, `  Did you mean ${meant}?`, error)
}

async function listedNames(client: Client): Promise<string[]> {
  const names: string[] = []
  for await (const agent of client.agents.list({ limit: 100, sort: 'name' }, { retries: 0 })) {
    names.push(agent.name)
    if (names.length === MOST_AGENTS) break
  }
  return names
}
