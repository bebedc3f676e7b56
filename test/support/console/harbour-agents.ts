const ROPES = `Yes, we have **two** of 12 mm:

| Rope | A metre | In stock |
| --- | --- | --- |
| Polyester, braided | 3.20 | 140 m |
| Nylon, three strands | 2.80 | 65 m |

For a mooring take *nylon*: it stretches. Measure like this:

1. the length of your boat,
2. a third more for each line.`

export const SUPPORT = {
  name: 'support',
  description: 'Answers the customers of the shop',
  model: 'builtin/script',
  instructions: 'You answer the customers of a chandlery.\nBe brief and friendly.',
  script: {
    rules: [
      {
        match: { contains: 'refund' },
        reply: 'Your refund for order 4711 is on its way. It takes three to five days.',
      },
      { match: { contains: 'broken' }, fail: 'the stock system did not answer' },
      { match: { contains: 'rope' }, reply: ROPES },
    ],
    fallback: 'I can help with orders, refunds and stock. What do you need?',
  },
}

/** An agent with one tool of each kind. */
export const cashier = (shop: string) => ({
  name: 'cashier',
  description: 'Pays money back, if somebody agrees',
  model: 'builtin/script',
  approvals: { self: true },
  tools: [
    {
      type: 'http',
      name: 'refund',
      description: 'Pays money back',
      method: 'POST',
      url: `${shop}/refunds/{order}`,
      input_schema: {
        type: 'object',
        properties: {
          order: { type: 'string', description: 'The number of the order' },
          amount: { type: 'number', description: 'In euros' },
        },
        required: ['order', 'amount'],
      },
      headers: { Authorization: 'Bearer {{secret.SHOP_TOKEN}}', 'X-Till': '4' },
      approval: { when: [{ argument: 'amount', greater_than: 100 }], expires_after_seconds: 7_200 },
      timeout_ms: 9_000,
    },
    { type: 'http', name: 'stock', description: 'What is in stock', method: 'GET', url: `${shop}/stock` },
    { type: 'ask_person', name: 'ask_harbour_master', description: 'Asks the harbour master' },
    { type: 'agent', name: 'ask_concierge', description: 'Knows the guests', agent: 'concierge', memory: 'shared' },
    { type: 'mcp', url: `${shop}/stock/mcp`, allow: ['find_boat', 'moor_boat'], approval: 'always' },
  ],
  script: {
    rules: [
      { match: { contains: '250' }, call: { tool: 'refund', arguments: { order: '4711', amount: 250 } } },
      { match: { contains: '999' }, call: { tool: 'refund', arguments: { order: '4712', amount: 999 } } },
      { match: { contains: '30' }, call: { tool: 'refund', arguments: { order: '4713', amount: 30 } } },
      { match: { contains: 'stock' }, call: { tool: 'stock', arguments: {} } },
      {
        match: { contains: 'harbour' },
        call: {
          tool: 'ask_harbour_master',
          arguments: { question: 'Which harbour is meant?', options: ['Kiel', 'Laboe'] },
        },
      },
    ],
    fallback: 'Done.',
  },
})

/** An agent whose callers may not decide its approvals. */
export const purser = (shop: string) => ({
  name: 'purser',
  description: 'Counts the stock',
  model: 'builtin/script',
  tools: [{ type: 'http', name: 'count', method: 'PUT', url: `${shop}/count`, approval: 'always', retry: 'ask' }],
  script: { rules: [{ call: { tool: 'count', arguments: {} } }] },
})

/** Its model answers in words, but must answer with a value if it is asked for a list. */
export const PILOT = {
  name: 'pilot',
  description: 'Knows the tides',
  model: ['local/harbour-7b', 'local/lighthouse-mini'],
  instructions: 'You are a pilot.',
  temperature: 0.4,
  memory: { history: 6, recall: 4, retention_days: 30, summarize: 8 },
  limits: { timeout_ms: 45_000, max_steps: 5, max_output_tokens: 700, max_concurrency: 3, max_tool_calls: 9 },
}
