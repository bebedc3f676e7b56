import { type GalleryExample, NAME } from './example.ts'

const specialist = (subject: string, description: string) => ({
  type: 'agent' as const,
  name: subject,
  description,
  agent: `${NAME}-${subject}`,
})

export const triage: GalleryExample = {
  id: 'triage',
  title: 'Agents that call each other',
  about: 'A front desk that passes each question to the right one of two other agents.',
  helpers: {
    billing: {
      description: 'Answers questions about invoices and payments.',
      model: 'builtin/script',
      instructions: 'You answer questions about invoices and payments. Be brief.',
      script: { rules: [{ reply: 'Billing: invoices are sent on the first of the month.' }] },
    },
    technical: {
      description: 'Answers questions about signing in and using the product.',
      model: 'builtin/script',
      instructions: 'You answer questions about signing in and using the product. Be brief.',
      script: { rules: [{ reply: 'Technical help: reset your password on the sign-in page.' }] },
    },
  },
  definition: {
    description: 'Passes each question to the agent that can answer it.',
    model: 'builtin/script',
    instructions: 'Pass each question to the tool that can answer it, and return its answer.',
    tools: [
      specialist('billing', 'Answers questions about invoices and payments.'),
      specialist('technical', 'Answers questions about signing in and using the product.'),
    ],
    script: {
      rules: [
        {
          match: { contains: 'invoice' },
          call: { tool: 'billing', arguments: { message: '{{message}}' } },
          reply: '{{result}}',
        },
        {
          match: { contains: 'password' },
          call: { tool: 'technical', arguments: { message: '{{message}}' } },
          reply: '{{result}}',
        },
      ],
      fallback: 'I can help with invoices and passwords.',
    },
  },
  tries: [
    { message: 'Where is my invoice?', answer: 'Billing: invoices are sent on the first of the month.' },
    { message: 'I forgot my password', answer: 'Technical help: reset your password on the sign-in page.' },
  ],
}
