import type { CreateAgent } from '../../../sdk/client.ts'

export type Template = {
  id: string
  title: string
  about: string
  definition: Omit<CreateAgent, 'name'>
}

/** Definitions from which a new agent can start. All but the first work immediately, without a model provider. */
export const TEMPLATES: Template[] = [
  {
    id: 'model',
    title: 'Model',
    about: 'Answers with a model from one of your providers, following your instructions.',
    definition: {
      description: 'An assistant',
      instructions: 'You are a helpful assistant. Answer briefly.',
      memory: { history: 20, recall: 5 },
    },
  },
  {
    id: 'script',
    title: 'Rules',
    about: 'Follows rules that you write. Requires no model.',
    definition: {
      description: 'Answers with rules',
      model: 'builtin/script',
      script: {
        rules: [{ match: { contains: 'hello' }, reply: 'Hello! You said "{{message}}".' }],
        fallback: 'Say hello.',
      },
    },
  },
  {
    id: 'recall',
    title: 'Memory',
    about: 'Answers from what it remembers of the conversation. Requires no model.',
    definition: { description: 'Answers from its memory', model: 'builtin/recall' },
  },
  {
    id: 'echo',
    title: 'Echo',
    about: 'Repeats each message. Use it to test webhooks, limits and clients.',
    definition: { description: 'Repeats the message', model: 'builtin/echo' },
  },
]
