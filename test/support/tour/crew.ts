import type { Reply } from '../service/service.ts'
import type { Tour } from './tour.ts'
import type { World } from './world.ts'

/** The agents of a tour that answer with a model: one with tools, one that asks people, and one that calls another. */
export async function makeCrew(tour: Tour, { place }: World): Promise<void> {
  const http = (name: string, more: object = {}) => ({
    type: 'http',
    name,
    description: `The ${name} of the harbour`,
    url: `${place.url}/${name}`,
    headers: { Authorization: 'Bearer {{secret.WEATHER}}' },
    ...more,
  })
  const create = (name: string, body: object) => tour.call('POST', '/v1/agents', { body: { name, ...body } })
  await create('pilot', {
    model: 'local/tiny',
    description: 'Knows the weather',
    temperature: 0.3,
    instructions: 'You are the pilot.',
    tools: [
      http('weather', { method: 'GET', input_schema: { type: 'object', properties: { city: { type: 'string' } } } }),
      http('broken', { method: 'POST', retry: 'never' }),
    ],
    memory: { history: 6, recall: 4 },
    limits: { max_output_tokens: 300 },
    metadata: { team: 'harbour' },
  })
  await create('master', {
    model: 'local/large',
    description: 'Gives berths',
    tools: [
      http('berth', { method: 'PUT', approval: { when: [{ argument: 'nights', greater_than: 3 }] } }),
      { type: 'ask_person' },
    ],
    approvals: { self: true, expires_after_seconds: 3600 },
  })
  await create('captain', {
    model: 'builtin/script',
    tools: [{ type: 'agent', name: 'ask_pilot', description: 'Asks the pilot', agent: 'pilot', memory: 'own' }],
    script: {
      rules: [
        { match: { starts_with: 'stop' }, fail: 'The captain sleeps' },
        { match: { starts_with: 'late' }, reply: 'late', delay_ms: 60_000 },
        { call: { tool: 'ask_pilot', arguments: { message: '{{message}}' } }, reply: 'The pilot says: {{result}}' },
      ],
    },
  })
  await create('asking', {
    model: 'builtin/script',
    tools: [{ type: 'ask_person', expires_after_seconds: 300 }],
    script: {
      rules: [{ call: { tool: 'ask_person', arguments: { question: '{{message}}', options: ['Yes', 'No'] } } }],
    },
    approvals: { self: true },
  })
}

/** The ID of the run that a stream is about. */
export function runOf({ text }: Reply): string {
  return /req_\w+/.exec(text)?.[0] ?? ''
}
