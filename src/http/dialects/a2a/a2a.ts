import { lazilyInTurn } from '../../../lib/lazily.ts'
import type { Operation } from '../../../operation.ts'
import type { Dialect, Route } from '../dialect.ts'
import { moorage } from '../moorage.ts'
import { renderA2aError } from './a2a-errors.ts'

const OWN_PATH = /^\/v1\/agents\/[^/]+\/(?:a2a|\.well-known\/agent-card\.json)$/

/** The dialect of A2A 1.0: a message to an agent is an invocation, and its receipt is a task. */
export const a2a: Dialect = {
  ...moorage,
  name: 'a2a',
  door: 'a2a',
  routes,
  owns: (path) => OWN_PATH.test(path),
  error: renderA2aError,
}

const sdk = lazilyInTurn('@a2a-js/sdk/errors', '@a2a-js/sdk')

/** Loaded for the first client, because many services have none. */
const loadDoor = async () => {
  await sdk()
  return import('./a2a-door.ts')
}

function routes(operations: readonly Operation[]): Route[] {
  const operation = operations.find(({ id }) => id === 'invokeAgent')
  if (!operation) return []
  const common = { dialect: a2a, operation }
  return [
    {
      ...common,
      method: 'POST',
      path: '/v1/agents/{agent_id}/a2a',
      serve: async (received, calls) => (await loadDoor()).serveA2a(operations, received, calls),
    },
    {
      ...common,
      method: 'GET',
      path: '/v1/agents/{agent_id}/.well-known/agent-card.json',
      isOpenForPublicCards: true,
      serve: async (received, calls) => (await loadDoor()).renderCard(received, calls),
    },
  ]
}
