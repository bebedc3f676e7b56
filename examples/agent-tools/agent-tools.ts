// A front desk that asks another agent what a message is about, before it answers.
// Run with MOORAGE_URL and MOORAGE_API_KEY set: npm run example examples/agent-tools/agent-tools.ts
import { createClient, MoorageError } from '../../sdk/client.ts'

const moorage = createClient({
  url: process.env['MOORAGE_URL'] ?? 'http://127.0.0.1:8787',
  key: process.env['MOORAGE_API_KEY'],
})

type NewAgent = Parameters<typeof moorage.agents.create>[0]

async function make(agent: NewAgent): Promise<void> {
  await moorage.agents.create(agent).catch((error: unknown) => {
    const exists = error instanceof MoorageError && error.code === 'conflict'
    if (!exists) throw error
  })
}

// With models instead of the scripts, both read any message.
const schema = { type: 'object', properties: { topic: { type: 'string' } }, required: ['topic'] }
await make({
  name: 'sorter',
  model: 'builtin/script',
  output: { schema },
  script: { rules: [{ match: { contains: 'berth' }, output: { topic: 'moorings' } }, { output: { topic: 'other' } }] },
})
await make({
  name: 'harbour-desk',
  model: 'builtin/script',
  tools: [
    { type: 'agent', name: 'sort', description: 'Says what a message is about.', agent: 'sorter', memory: 'none' },
  ],
  script: { rules: [{ call: { tool: 'sort', arguments: { message: '{{message}}' } }, reply: 'Noted: {{result}}' }] },
})

const { response, request_id } = await moorage.agents.invoke('harbour-desk', { message: 'Is there a berth for us?' })
console.log(response)

const called = await moorage.invocations.listAll({ parent_request_id: request_id })
for (const { agent_id, status } of called.data) {
  const { name } = await moorage.agents.get(agent_id)
  console.log(`harbour-desk → ${name}: ${status}`)
}
