import type { GalleryExample } from './example.ts'

const URL = 'http://127.0.0.1:8710'

const order = {
  type: 'object' as const,
  properties: { order: { type: 'string', description: "The order's number, or a sentence that contains it" } },
  required: ['order'],
}

export const supportDesk: GalleryExample = {
  id: 'support-desk',
  title: 'Support desk',
  about: 'Looks up orders, and pays a refund only after a person has approved it.',
  definition: {
    description: 'Answers questions about orders. A refund needs the approval of a person.',
    model: 'builtin/script',
    instructions:
      'You are the support desk of a small shop. Look up an order before you say anything about it. ' +
      'If a customer wants their money back, call refund. Be brief.',
    tools: [
      {
        type: 'http',
        name: 'order_status',
        description: 'Returns the status and the price of an order.',
        method: 'GET',
        url: `${URL}/orders?order={order}`,
        input_schema: order,
      },
      {
        type: 'http',
        name: 'refund',
        description: 'Refunds an order in full.',
        method: 'POST',
        url: `${URL}/refunds`,
        input_schema: order,
        approval: 'always',
      },
    ],
    script: {
      rules: [
        {
          match: { contains: 'refund' },
          call: { tool: 'refund', arguments: { order: '{{message}}' } },
          reply: '{{result}}',
        },
        {
          match: { contains: 'order' },
          call: { tool: 'order_status', arguments: { order: '{{message}}' } },
          reply: '{{result}}',
        },
      ],
      fallback: 'Ask me about an order, for example: Where is order 1042?',
    },
  },
  server: { file: 'tools.mjs', url: URL },
  files: {
    'tools.mjs': `// The tools of the support desk: a shop with two orders. Replace it with your own shop.
import { createServer } from 'node:http'

const orders = { 1042: { status: 'on its way', price: 49.9 }, 1043: { status: 'delivered', price: 12 } }
/** A call that is repeated has the same Idempotency-Key, and must not pay twice. */
const paid = new Map()

function refund(id, key) {
  if (paid.has(key)) return paid.get(key)
  const order = orders[id]
  const text = order.refunded
    ? \`Order \${id} is already refunded.\`
    : \`Refunded \${order.price.toFixed(2)} EUR for order \${id}.\`
  order.refunded = true
  paid.set(key, text)
  return text
}

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  let body = ''
  for await (const chunk of request) body += chunk
  const asked = request.method === 'POST' ? JSON.parse(body).order : searchParams.get('order')
  const id = /\\d+/.exec(asked ?? '')?.[0]
  if (!orders[id]) return response.end(\`There is no order \${id ?? 'without a number'}.\`)
  if (pathname === '/refunds') return response.end(refund(id, request.headers['idempotency-key']))
  const { status, price } = orders[id]
  response.end(\`Order \${id} (\${price.toFixed(2)} EUR) is \${status}.\`)
})
server.listen(Number(process.env.PORT ?? 8710), '127.0.0.1', () => console.log('The tools are listening', server.address()))
`,
  },
  tries: [
    { message: 'Where is order 1042?', answer: 'Order 1042 (49.90 EUR) is on its way.' },
    { message: 'I want a refund for order 1043', answer: 'Refunded 12.00 EUR for order 1043.' },
  ],
}
