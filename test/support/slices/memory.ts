import assert from 'node:assert/strict'
import type { Service } from '../service/service.ts'

export type Item = { content: string; [field: string]: unknown }

/** Writes memories. Returns them as the service does. */
export async function writeMemory(service: Service, agent: string, items: Item[]): Promise<Item[]> {
  const written: Item[] = []
  for (let i = 0; i < items.length; i += 100) {
    const reply = await service.call('POST', `/v1/agents/${agent}/memory`, { body: { items: items.slice(i, i + 100) } })
    assert.equal(reply.status, 201, reply.text)
    written.push(...reply.body.data.items)
  }
  return written
}

/** Runs a search that must succeed. Returns its whole body. */
export async function searchMemory(service: Service, agent: string, body: object) {
  const reply = await service.call('POST', `/v1/agents/${agent}/memory/search`, { body })
  assert.equal(reply.status, 200, reply.text)
  return reply.body
}

/** The contents that a search finds, best first. */
export async function found(service: Service, agent: string, body: object): Promise<string[]> {
  const { data } = await searchMemory(service, agent, body)
  return data.map(({ content }: Item) => content)
}
