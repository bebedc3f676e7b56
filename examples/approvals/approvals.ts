// An agent that may not do everything alone: a refund needs a person's approval, and the agent may ask a question.
// Run with MOORAGE_URL and MOORAGE_API_KEY (role admin) set: npm run example examples/approvals/approvals.ts
import { createClient, MoorageError } from '../../sdk/client.ts'

const url = process.env['MOORAGE_URL'] ?? 'http://127.0.0.1:8787'
const moorage = createClient({ url, key: process.env['MOORAGE_API_KEY'] })

// The script stands for a model that decides by itself which tool it calls.
const definition = {
  model: 'builtin/script',
  tools: [
    {
      type: 'http' as const,
      name: 'refund',
      method: 'POST' as const,
      url: 'https://shop.example.com/refunds',
      input_schema: { type: 'object' as const, properties: { amount: { type: 'number' } }, required: ['amount'] },
      approval: { when: [{ argument: 'amount', greater_than: 100 }] },
    },
    { type: 'ask_person' as const },
  ],
  script: {
    rules: [
      { match: { contains: 'refund' }, call: { tool: 'refund', arguments: { amount: 250 } }, reply: '{{result}}' },
      { call: { tool: 'ask_person', arguments: { question: '{{message}}' } }, reply: 'The lead says: {{result}}' },
    ],
  },
}
await moorage.agents.create({ name: 'clerk', ...definition }).catch((error: unknown) => {
  const exists = error instanceof MoorageError && error.code === 'conflict'
  if (!exists) throw error
})

// One person starts a run, another one decides: the shop and the lead have a key each, and neither made the other's.
const [shopKey, leadKey] = [
  await moorage.keys.create({ name: 'shop', role: 'caller' }),
  await moorage.keys.create({ name: 'lead', role: 'approver' }),
]
const shop = createClient({ url, key: shopKey.secret })
const lead = createClient({ url, key: leadKey.secret })

await ask('I want a refund of 250', { decision: 'reject', note: 'Only up to 100' })
await ask('May I bring my dog?', { decision: 'approve', answer: 'If it can swim' })
for (const { id } of [shopKey, leadKey]) await moorage.keys.revoke(id)

/** Asks the clerk, lets the lead decide, and tells how it ends. */
async function ask(message: string, decision: Parameters<typeof lead.approvals.decide>[3]): Promise<void> {
  console.log(`Customer: ${message}`)
  for await (const event of shop.agents.stream('clerk', { message })) {
    if (event.type !== 'waiting') continue
    for (const { call_id, tool, arguments: given } of event.approvals ?? []) {
      console.log(`The lead is asked: ${tool} ${JSON.stringify(given)}`)
      await lead.approvals.decide('clerk', event.request_id, call_id, decision)
    }
    // The run goes on by itself: on any node, after days if need be.
    for await (const later of shop.invocations.follow('clerk', event.request_id)) {
      if (later.type === 'done') console.log(`Clerk: ${later.data.response}`)
    }
  }
}
