// A note becomes a record: the answer of the agent is a value of the shape, checked by the service.
// Run with MOORAGE_URL and MOORAGE_API_KEY set: npm run example examples/structured-answers/structured-answers.ts
import { z } from 'zod'
import { createClient, MoorageError } from '../../sdk/client.ts'

const moorage = createClient({
  url: process.env['MOORAGE_URL'] ?? 'http://127.0.0.1:8787',
  key: process.env['MOORAGE_API_KEY'],
})

const Purchase = z.object({ shop: z.string(), total: z.number().nonnegative(), items: z.array(z.string()) })

// With a model instead of the script, the agent reads any note.
const script = {
  rules: [
    { match: { contains: 'rope' }, output: { shop: 'Chandler', total: 12.5, items: ['rope'] } },
    { match: { contains: 'paint' }, output: { shop: 'Chandler', total: 'a lot', items: ['paint'] } },
  ],
}
await moorage.agents.create({ name: 'note-reader', model: 'builtin/script', script }).catch((error: unknown) => {
  const exists = error instanceof MoorageError && error.code === 'conflict'
  if (!exists) throw error
})

for (const message of ['Bought rope at Chandler, twelve fifty', 'Bought paint']) {
  console.log(`Note: ${message}`)
  try {
    const { output } = await moorage.agents.invoke('note-reader', { message, output: Purchase })
    console.log(`Record: ${output.items.join(', ')} at ${output.shop}: ${output.total.toFixed(2)}`)
  } catch (error) {
    if (!(error instanceof MoorageError) || error.code !== 'output_invalid') throw error
    console.log(`No record: ${error.details.map(({ field, error: problem }) => `${field} ${problem}`).join(', ')}`)
  }
}
