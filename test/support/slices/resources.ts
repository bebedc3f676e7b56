import assert from 'node:assert/strict'
import type { Service } from '../service/service.ts'

type Key = { id: string; secret: string; hint: string }

/** Creates a key with these fields, as the admin or with another key. */
export async function createKey(service: Service, body: object, key?: string): Promise<Key> {
  const reply = await service.call('POST', '/v1/keys', { body: { name: 'a key', ...body }, ...(key && { key }) })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.data
}

/** Creates an agent and returns its ID. */
export async function createAgent(service: Service, name: string, body: object = {}): Promise<string> {
  const reply = await service.call('POST', '/v1/agents', { body: { name, ...body } })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.data.id
}

export function idsOf({ body }: { body: { data: { id: string }[] } }): string[] {
  return body.data.map(({ id }) => id)
}

export function namesOf({ body }: { body: { data: { name: string }[] } }): string[] {
  return body.data.map(({ name }) => name)
}

/** Returns what `look` sees after that much time. Afterwards, the clock is set back. */
export async function later<T>(service: Service, ms: number, look: () => Promise<T>): Promise<T> {
  service.advance(ms)
  try {
    return await look()
  } finally {
    service.advance(-ms)
  }
}
