import { type Client, MoorageError } from '../../../sdk/client.ts'
import { nearest } from '../../lib/text/nearest.ts'
import { EXIT, Failure } from '../failure.ts'

const MISSING_AGENT = /^Agent "([^"]+)" not found\.?$/
const MOST_AGENTS = 1000

/** If no agent has the name, adds the name that was probably meant to the error. */
export async function withSuggestion(client: Client, error: unknown): Promise<unknown> {
  if (!(error instanceof MoorageError)) return error
  const [, name] = MISSING_AGENT.exec(error.message) ?? []
  if (name === undefined || name.startsWith('agt_')) return error
  // If the agents can't be listed, only the original error is shown.
  const meant = await agentNames(client).then(
    (names) => nearest(name, names),
    () => undefined,
  )
  return meant === undefined ? error : new Failure(EXIT.notFound, error.message, `  Did you mean ${meant}?`, error)
}

async function agentNames(client: Client): Promise<string[]> {
  const names: string[] = []
  for await (const agent of client.agents.list({ limit: 100, sort: 'name' }, { retries: 0 })) {
    names.push(agent.name)
    if (names.length === MOST_AGENTS) break
  }
  return names
}
