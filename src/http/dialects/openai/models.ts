import { notFound } from '../../../errors.ts'
import type { Rendered } from '../dialect.ts'
import type { OperationCalls } from '../operation-calls.ts'
import { seconds } from './answered.ts'
import { readModel } from './parameters.ts'

const PAGE = 100

type Listed = { id: string; name: string; created_at: string }

/** Every agent that the key may invoke. OpenAI's list has no pages. */
export async function listModels(calls: OperationCalls): Promise<Rendered> {
  const data = (await listAll(calls)).map((agent) => modelOf(agent, agent.name))
  return { status: 200, headers: {}, body: JSON.stringify({ object: 'list', data }) }
}

/** A model that the key may not use is not found, whether or not it exists. */
export async function getModel(calls: OperationCalls): Promise<Rendered> {
  const { model = '' } = calls.received.params
  const { agent: ref } = readModel(model)
  const found = (await listAll(calls)).find(({ id, name }) => id === ref || name === ref)
  if (!found) throw notFound('Agent', ref)
  return { status: 200, headers: {}, body: JSON.stringify(modelOf(found, model)) }
}

async function listAll(calls: OperationCalls): Promise<Listed[]> {
  const all: Listed[] = []
  for (;;) {
    const query = { limit: PAGE, offset: all.length, sort: 'name' }
    const { data, pagination } = await calls.run<Listed[]>('listInvocable', { query })
    all.push(...data)
    if (!pagination.has_more) return all
  }
}

function modelOf({ created_at }: Listed, id: string) {
  return { id, object: 'model', created: seconds(Date.parse(created_at)), owned_by: 'moorage' }
}
