import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../../errors.ts'
import { isObject } from '../../lib/json.ts'
import { storable } from '../../lib/text/text.ts'
import type { Actor } from '../../operation/actor.ts'
import { addressBucket } from '../../security/ip-list.ts'
import { checkBodyHeaders, parseJson, readBytes } from '../input/body.ts'
import type { OpenInlet } from '../pipeline/edge.ts'
import { enterGate } from '../pipeline/guards/authorise.ts'
import { countRequest } from '../pipeline/pipeline.ts'
import type { ArrivedRequest } from '../pipeline/request.ts'
import type { Endpoint } from './endpoint.ts'
import type { Front } from './front.ts'
import { send } from './replies/send.ts'
import type { Router } from './router.ts'

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json$/
const FORM_TYPE = 'application/x-www-form-urlencoded'
const MAX_FIELDS = 1_000
const OF_ANY_TYPE = { operation: { input: { upload: true } } } as const

/** Adds the URLs of triggers. They need no key: each trigger says how it verifies its sender. */
export function addInlet(endpoints: Router<Endpoint>, front: Front): void {
  endpoints.add('POST', '/v1/in/{token}', {
    open: true,
    page: (arrived, response) => receive(front, arrived, response),
  })
}

async function receive(front: Front, arrived: ArrivedRequest, response: ServerResponse): Promise<void> {
  const { edge, requests } = front
  const { message, request_id } = arrived
  arrived.trace.action = 'receiveTrigger'
  const inlet = await asKnown(front, arrived, () => edge.inlet.find(arrived.params['token'] ?? ''))
  const agent = await edge.findAgent(inlet.project_id, inlet.agent_id)
  if (agent?.gate) await enterGate(arrived, agent.gate, inlet.agent_id, edge)
  checkBodyHeaders({ message, route: OF_ANY_TYPE })
  const bytes = (await readBytes(message, edge.parts.config)) ?? Buffer.alloc(0)
  const { event } = await asKnown(front, arrived, () => inlet.prove({ headers: message.headers, bytes }))
  arrived.trace.agent_id = inlet.agent_id
  arrived.trace.actor = senderOf(inlet, edge.parts.config.limits.defaultTier)
  await countRequest(edge, { arrived, actor: arrived.trace.actor, agent })
  const headers = singleHeaders(message)
  const accept = async () => {
    const type = headers['content-type'] ?? ''
    if (inlet.takesMail) return inlet.acceptMail({ request_id, event, headers, type, bytes })
    return inlet.accept({ request_id, event, ...(await inlet.read(headers, () => payloadOf(type, headers, bytes))) })
  }
  const { status, body } = await accept()
  requests.count(arrived, status)
  send(response, arrived.headers, { status, headers: {}, body: JSON.stringify(body) })
}

/** A trigger's sender can send as much as a key of the default tier, and do nothing else. */
function senderOf({ id, agent_id, project_id }: OpenInlet, tier: string): Actor {
  const scope = { project_id, agent_id, user_id: null }
  return { kind: 'token', id, scope, reach: 'project', permissions: [], tier, expires_at: null }
}

/** Limits how often one IP address can guess tokens or forge signatures. */
async function asKnown<T>({ steps }: Front, arrived: ArrivedRequest, find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof ApiError && (error.code === 'not_found' || error.code === 'unauthorized')) {
      await steps.failures.count(`in:${addressBucket(arrived.address)}`)
    }
    throw error
  }
}

type Received = Pick<Parameters<OpenInlet['accept']>[0], 'payload' | 'text'>

/** The body as JSON. A form becomes an object of its fields, as Slack's commands and some webhooks send them. */
function payloadOf(content: string, headers: Record<string, string>, bytes: Buffer): Received {
  const type = content.split(';')[0]?.trim().toLowerCase() ?? ''
  const isForm = type === FORM_TYPE
  if (!isForm && bytes.length > 0 && !JSON_TYPE.test(type)) {
    throw new ApiError('unsupported_media_type', 'Send the payload as application/json or as a form.')
  }
  const body = isForm ? formOf(bytes.toString('utf8')) : bytes.length > 0 ? readJson(bytes) : {}
  return { payload: { headers, body }, text: JSON.stringify(body) }
}

function singleHeaders({ headers }: IncomingMessage): Record<string, string> {
  const single = Object.entries(headers).flatMap(([name, value]) =>
    typeof value === 'string' ? [[name, value] as const] : [],
  )
  return Object.fromEntries(single)
}

function formOf(text: string): Record<string, unknown> {
  const fields: Record<string, unknown> = Object.create(null)
  let count = 0
  for (const [name, value] of new URLSearchParams(text)) {
    if (++count > MAX_FIELDS) throw new ApiError('invalid_request', `A form can have at most ${MAX_FIELDS} fields.`)
    if (name !== '__proto__') fields[storable(name)] = storable(value)
  }
  // Some senders put their JSON into one field.
  const inner = typeof fields['payload'] === 'string' ? parsedField(fields['payload']) : undefined
  return { ...fields, ...(isObject(inner) && { payload: inner }) }
}

function parsedField(text: string): unknown {
  try {
    return readJson(Buffer.from(text))
  } catch (error) {
    if (error instanceof ApiError) return undefined
    throw error
  }
}

const readJson = (bytes: Buffer) => parseJson(bytes, undefined, 'as text')
