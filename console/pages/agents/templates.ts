import type { CreateAgent } from '../../../sdk/client.ts'

export type Template = {
  id: string
  title: string
  about: string
  definition: Omit<CreateAgent, 'name'>
}

/** Definitions that a new agent can start from. All but the last work at once, without a model provider. */
export const TEMPLATES: Template[] = [
  {
    id: 'script',
    title: 'Rules',
    about: 'Answers by rules that you write. Needs no model.',
    definition: {
      description: 'Answers by rules',
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
    about: 'Answers with what it remembers of the conversation. Needs no model.',
    definition: { description: 'Answers from its memory', model: 'builtin/recall' },
  },
  {
    id: 'echo',
    title: 'Echo',
    about: 'Says what it is told: to try webhooks, limits and clients.',
    definition: { description: 'Repeats the message', model: 'builtin/echo' },
  },
  {
    id: 'model',
    title: 'Model',
    about: 'Instructions for a model of one of your providers.',
    definition: {
      description: 'An assistant',
      instructions: 'You are a helpful assistant. Answer briefly.',
      memory: { history: 20, recall: 5 },
    },
  },
]
