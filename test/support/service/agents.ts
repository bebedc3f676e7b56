import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { storeOf } from '../inside.ts'
import type { Service } from './service.ts'

let made = 0

/** Creates an agent with a unique name. Returns its ID. */
export async function newAgent(service: Service, fields: object = {}): Promise<string> {
  made += 1
  const { status, body, text } = await service.call('POST', '/v1/agents', {
    body: { name: `agent-${made}`, ...fields },
  })
  assert.equal(status, 201, text)
  return body.data.id
}

const COPIED =
  'project_id, status, own_memory, security, auth, created_at, updated_at, description, output_schema, calls, definition'

/** Creates agents whose definitions have about 800 KB each. */
export async function newLongAgents(service: Service, count: number, fields: object = {}): Promise<void> {
  const tool = { type: 'http', description: 'x'.repeat(4_000), url: 'https://tools.example.com/', method: 'POST' }
  const input_schema = { type: 'object', description: 'x'.repeat(20_000) }
  const tools = Array.from({ length: 30 }, (_, i) => ({ ...tool, name: `tool_${i}`, input_schema }))
  const first = await newAgent(service, { instructions: 'x'.repeat(100_000), tools, ...fields })
  for (let i = 1; i < count; i++) {
    const [id, name] = [`agt_${String(i).padStart(26, '0')}`, `long-${i}`]
    await sql`insert into agents (id, name, ${sql.raw(COPIED)}) select ${id}, ${name}, ${sql.raw(COPIED)}
      from agents where id = ${first}`.execute(storeOf(service))
  }
}
