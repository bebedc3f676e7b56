import { notFound } from '../../../errors.ts'
import type { RenderedReply } from '../dialect.ts'
import type { OperationCalls } from '../operation-calls.ts'
import { seconds } from './answered.ts'
import { readModel } from './parameters.ts'

const MAX_LISTED_AGENTS = 1000

type ListedModel = { id: string; name: string; created_at: string }

/** The agents that the key may invoke. OpenAI's list has no pages, so it ends after a thousand agents and says so. */
export async function listModels(calls: OperationCalls): Promise<RenderedReply> {
  const models: ReturnType<typeof modelOf>[] = []
  let has_more = true
  // A page ends early if its agents have large output schemas.
  for (let left = MAX_LISTED_AGENTS; has_more && left > 0; left = MAX_LISTED_AGENTS - models.length) {
    const query = { limit: left, offset: models.length, sort: 'name' }
    const { data, pagination } = await calls.run<ListedModel[]>('listInvocable', { query })
    models.push(...data.map((agent) => modelOf(agent, agent.name)))
    has_more = pagination.has_more && data.length > 0
  }
  const body = { object: 'list', data: models, has_more }
  return { status: 200, headers: {}, body: JSON.stringify(body) }
}

/** A model that the key may not use is reported as missing, whether it exists or not. */
export async function getModel(calls: OperationCalls): Promise<RenderedReply> {
  const { model = '' } = calls.received.params
  const { agent: agent_id } = readModel(model)
  const { data } = await calls.run<ListedModel[]>('listInvocable', { query: { agent_id } })
  const [found] = data
  if (!found) throw notFound('Agent', agent_id)
  return { status: 200, headers: {}, body: JSON.stringify(modelOf(found, model)) }
}

function modelOf({ created_at }: ListedModel, id: string) {
  return { id, object: 'model', created: seconds(Date.parse(created_at)), owned_by: 'moorage' }
}
