import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newAgent } from './support/agents.ts'
import { onBothEngines, type Service } from './support/service.ts'

type Item = { content: string; [field: string]: unknown }

async function write(service: Service, agent: string, items: Item[]) {
  const { status, body, text } = await service.call('POST', `/v1/agents/${agent}/memory`, { body: { items } })
  assert.equal(status, 201, text)
  return body.data.items
}

async function search(service: Service, agent: string, body: object) {
  const reply = await service.call('POST', `/v1/agents/${agent}/memory/search`, { body })
  assert.equal(reply.status, 200, reply.text)
  return reply.body
}

async function contents(service: Service, agent: string, body: object): Promise<string[]> {
  return (await search(service, agent, body)).data.map(({ content }: Item) => content)
}

onBothEngines('memory', (service) => {
  describe('POST /v1/agents/{agent_id}/memory', () => {
    test('201 with every memory as it is kept', async () => {
      const agent = await newAgent(service())
      const items = await write(service(), agent, [
        { content: 'Closed on Mondays' },
        {
          content: 'I like my tea black',
          kind: 'turn',
          role: 'user',
          context: { user_id: 'anna', session_id: 's1' },
          metadata: { source: 'import' },
          created_at: '2026-01-02T03:04:05+01:00',
        },
      ])
      console.log(items)
      console.log(await search(service(), agent, { query: 'tea on monday?' }))
    })
  })
})
