import assert from 'node:assert/strict'
import type { Service } from './service.ts'

let made = 0

/** A new agent under a name of its own; its id. */
export async function newAgent(service: Service, fields: object = {}): Promise<string> {
  made += 1
  const { status, body, text } = await service.call('POST', '/v1/agents', {
    body: { name: `agent-${made}`, ...fields },
  })
  assert.equal(status, 201, text)
  return body.data.id
}
