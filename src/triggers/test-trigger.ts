import { z } from 'zod'
import * as agents from '../agents/store.ts'
import { ApiError, conflict, invalid } from '../errors.ts'
import * as incoming from '../incoming/store.ts'
import type { Needs } from '../operation/context.ts'
import { operation } from '../operation.ts'
import { exampleFor } from './example-events.ts'
import { newDelivery } from './receive/inlet.ts'
import { type Payload, plainHeaders } from './receive/payload.ts'
import { type ReadEvent, readEvent } from './receive/read-event.ts'
import { startRun } from './receive/start-run.ts'

import * as triggers from './store.ts'
import { type Trigger, TriggerParams } from './trigger.ts'

const HeaderValues = z
  .record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header'), z.string().max(1_000))
  .refine((headers) => Object.keys(headers).length <= 50, 'can have at most 50 headers')

const TestTriggerBody = z
  .strictObject({
    payload: z.unknown().optional().describe("A body to test with. Default: an example from the trigger's provider"),
    headers: HeaderValues.optional(),
    delivery_id: z.string().optional().describe('Test with the payload of this delivery instead'),
    run: z.boolean().default(false).describe('Also start a run'),
  })
  .meta({ id: 'TestTrigger' })

const TestedTrigger = z
  .object({
    outcome: z.enum(['accepted', 'filtered', 'failed']).describe('What would become of this payload'),
    reason: z.string().nullable().describe('Why it would fail'),
    message: z.string().nullable(),
    user_id: z.string().nullable(),
    session_id: z.string().nullable(),
    secret_found: z.boolean().describe('Whether the secret that verifies requests exists'),
    payload: z.unknown().describe('What was tested'),
    headers: z.record(z.string(), z.string()),
    request_id: z.string().nullable().describe('With `run`: the run'),
    delivery_id: z.string().nullable().describe('With `run`: its delivery'),
  })
  .meta({ id: 'TestedTrigger' })

type TestNeeds = Needs<'actor' | 'db' | 'newId' | 'now' | 'pauses' | 'request_id' | 'secrets'>

export const testTrigger = operation({
  id: 'testTrigger',
  method: 'POST',
  path: '/v1/agents/{agent_id}/triggers/{trigger_id}/test',
  summary: 'Test a trigger',
  description:
    "Shows the message, user and session that a payload would lead to. With `run: true`, a payload that isn't filtered also starts a background run, with the permissions of the key that sends this request. Signatures and repeated events aren't checked.",
  access: { permission: 'write' },
  mfa: { policy: 'invoke' },
  audit: { target: 'trigger_id' },
  idempotent: true,
  input: { params: TriggerParams, body: TestTriggerBody, bodyOptional: true },
  answer: { data: TestedTrigger, errors: ['agent_paused', 'conflict', 'session_busy'] },

  async run({ params, body }, context: TestNeeds) {
    const { db } = context
    const agent = await agents.get(db, params.agent_id)
    const trigger = await triggers.get(db, agent.id, params.trigger_id)
    const payload = await testedPayload(db, trigger, body)
    const { verify } = trigger
    const secret_found =
      verify.scheme === 'none' || Object.hasOwn(await context.secrets(agent.project_id), verify.secret)
    const tested = {
      payload: payload.body,
      headers: payload.headers,
      secret_found,
      request_id: null,
      delivery_id: null,
    }
    const nothing = { ...tested, message: null, user_id: null, session_id: null, reason: null }
    let event: ReadEvent
    try {
      event = readEvent(trigger, payload, undefined)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return { ...nothing, outcome: 'failed' as const, reason: error.message }
    }
    if (!event.isWanted) return { ...nothing, outcome: 'filtered' as const }
    const { message, user_id, session_id } = event
    const read = { ...nothing, outcome: 'accepted' as const, message, user_id, session_id }
    if (!body.run) return read
    const { actor, request_id } = context
    const { headers } = payload
    const stored = { ...newDelivery(trigger, context), request_id, user_id, session_id, headers }
    await incoming.insert(db, { ...stored, outcome: 'accepted', body: JSON.stringify(payload.body) })
    // The conversation of an example doesn't exist.
    const unanswered = { ...event, conversation: null }
    await startRun(db, { trigger, agent, event: unanswered }, { actor, delivery_id: stored.id, request_id }, context)
    return { ...read, request_id, delivery_id: stored.id }
  },
})

async function testedPayload(
  db: TestNeeds['db'],
  trigger: Trigger,
  { payload, headers, delivery_id }: z.output<typeof TestTriggerBody>,
): Promise<Payload> {
  const example = exampleFor(trigger)
  if (delivery_id === undefined) {
    const lowered = Object.entries(headers ?? example.headers).map(([name, value]) => [name.toLowerCase(), value])
    return { headers: plainHeaders(Object.fromEntries(lowered)), body: payload ?? example.payload }
  }
  if (payload !== undefined) throw invalid({ field: 'payload', error: "can't be combined with `delivery_id`" })
  const delivery = await incoming.get(db, trigger.id, delivery_id)
  if (delivery.body === null) throw conflict('The payload of this delivery is not stored.')
  return { headers: delivery.headers, body: JSON.parse(delivery.body) as unknown }
}
