// A photo of a receipt becomes a record: the photo goes to the model with the message, and its answer is checked.
// Run with MOORAGE_URL and MOORAGE_API_KEY set: npm run example examples/receipt-photo/receipt-photo.ts
// With MODEL=openai/… or anthropic/… a model looks at the photo; without, a script answers for it.
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { createClient, MoorageError } from '../../sdk/client.ts'
import { fromPath } from '../../sdk/from-path.ts'

const moorage = createClient({
  url: process.env['MOORAGE_URL'] ?? 'http://127.0.0.1:8787',
  key: process.env['MOORAGE_API_KEY'],
})

const Receipt = z.object({
  shop: z.string(),
  date: z.string().describe('As 2026-11-14'),
  total: z.number().nonnegative(),
  currency: z.string().length(3),
  items: z.array(z.object({ name: z.string(), price: z.number() })),
})

const written: z.infer<typeof Receipt> = {
  shop: 'Chandler',
  date: '2026-11-14',
  total: 35.6,
  currency: 'EUR',
  items: [
    { name: 'Rope 12 mm, 5 m', price: 12.5 },
    { name: 'Shackle', price: 4.2 },
    { name: 'Paint, white', price: 18.9 },
  ],
}
const { MODEL } = process.env
const definition = {
  instructions: 'You read photos of receipts. Take names and prices as they are printed, and guess nothing.',
  ...(MODEL ? { model: MODEL } : { model: 'builtin/script', script: { rules: [{ output: written }] } }),
}
await moorage.agents.create({ name: 'receipt-reader', ...definition }).catch((error: unknown) => {
  const exists = error instanceof MoorageError && error.code === 'conflict'
  if (!exists) throw error
  return moorage.agents.update('receipt-reader', definition)
})

const photo = await fromPath(fileURLToPath(new URL('receipt.jpg', import.meta.url)))
const { output, request_id } = await moorage.agents.invoke('receipt-reader', {
  message: 'What did we buy?',
  attachments: [photo],
  output: Receipt,
})
console.log(`${output.date} ${output.shop}: ${output.total.toFixed(2)} ${output.currency}`)
for (const { name, price } of output.items) console.log(`  ${name}: ${price.toFixed(2)}`)

// The receipt of the run says what the model was shown.
const { attachments } = await moorage.invocations.get('receipt-reader', request_id)
for (const { name, shown_as, note } of attachments) console.log(`${name}: ${shown_as}${note ? `, ${note}` : ''}`)
