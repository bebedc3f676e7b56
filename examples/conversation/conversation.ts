// A conversation that is remembered: what Ada tells the agent in one session, it recalls for her in the next.
// Run with MOORAGE_URL and MOORAGE_API_KEY set: npm run example examples/conversation/conversation.ts
import { createClient, MoorageError } from '../../sdk/client.ts'

const moorage = createClient({
  url: process.env['MOORAGE_URL'] ?? 'http://127.0.0.1:8787',
  key: process.env['MOORAGE_API_KEY'],
})

await moorage.agents.create({ name: 'companion', model: 'builtin/recall' }).catch((error: unknown) => {
  const exists = error instanceof MoorageError && error.code === 'conflict'
  if (!exists) throw error
})

await say('Monday', 'My boat is called Nightingale')
await say('Tuesday', 'What is my boat called?')

async function say(session_id: string, message: string): Promise<void> {
  console.log(`[${session_id}] Ada: ${message}`)
  process.stdout.write(`[${session_id}] companion: `)
  const context = { user_id: 'ada', session_id }
  for await (const event of moorage.agents.stream('companion', { message, context })) {
    if (event.type === 'delta') process.stdout.write(event.text)
    if (event.type === 'done') console.log(`  (${event.data.tokens_used} tokens)`)
  }
}
