import { findSnapshot } from '../../agents/agent-snapshot.ts'
import * as agents from '../../agents/store.ts'
import { ApiError, unavailable } from '../../errors.ts'
import type { IncomingDelivery } from '../../incoming/incoming-delivery.ts'
import * as incoming from '../../incoming/store.ts'
import { rightToRun } from '../../invocations/queue/right-to-run.ts'
import { storable } from '../../lib/text/text.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import { sha256 } from '../../security/digest.ts'
import { answerQuestion, decidePress } from '../channels/asks.ts'
import { CHANNELS } from '../channels/call-platform.ts'
import { showDecision, showTyping } from '../channels/show-typing.ts'
import type { MailFile } from '../mail/mail.ts'
import { MailFiles } from '../mail/mail-files.ts'
import { countMail, uncountMail } from '../mail/mail-rate.ts'
import { MailReader } from '../mail/mail-reader.ts'
import * as triggers from '../store.ts'
import type { Trigger } from '../trigger.ts'
import { type Payload, plainHeaders } from './payload.ts'
import { challengeIn, type ReadEvent, readEvent, UnusableEvent } from './read-event.ts'
import { startRun } from './start-run.ts'
import { challengeOf, type SignedRequest, type VerifyRefusal, verify } from './verify.ts'

type InletParts = Pick<
  Parts,
  | 'audit'
  | 'bytes'
  | 'config'
  | 'errands'
  | 'fetch'
  | 'findProject'
  | 'limiter'
  | 'memo'
  | 'newId'
  | 'now'
  | 'pauses'
  | 'secrets'
  | 'storage'
  | 'telemetry'
>

/** A trigger that accepts requests. */
type OpenTrigger = {
  trigger: Trigger
  project_id: string
  /** Its runs have the permissions of this key. */
  actor: Pick<Actor, 'id' | 'person_id'>
}

/** A verified request. `text` is its body, to be stored. */
type VerifiedRequest = {
  request_id: string
  payload: Payload
  text: string
  event: string | undefined
  /** The files of a message. */
  files?: readonly MailFile[]
}

/** A verified request with a message, which has not been read yet. */
type VerifiedMail = Pick<VerifiedRequest, 'event' | 'request_id'> & {
  headers: Payload['headers']
  type: string
  bytes: Buffer
}

type InletReply = { status: 200 | 202; body: object }

/** Longer payloads are used but not stored, so their deliveries can't be replayed. */
const KEPT_BYTES = 256 * 1024
/** Refused requests are stored only up to this rate, because everybody who knows the URL can send them. */
const REFUSALS = { perMinute: 10, burst: 10 }

/** Receives what is sent to the URLs of triggers. */
export function openInlet(parts: InletParts) {
  const mails = new MailReader(parts.config.files.maxBytes)
  return {
    /** The trigger of a token, and what can be done with a request to it. */
    async find(token: string) {
      const open = await openTrigger(token, parts)
      if (!open) throw noTrigger()
      const { id, agent_id } = open.trigger
      return {
        id,
        agent_id,
        project_id: open.project_id,
        prove: (request: Omit<SignedRequest, 'now'>) => proveRequest(open, request, parts),
        takesMail: open.trigger.kind === 'email',
        accept: (request: VerifiedRequest) => acceptRequest(open, request, parts),
        async acceptMail({ headers, type, bytes, ...request }: VerifiedMail) {
          const { mail, files } = await reading(open, headers, () => mails.read({ type, bytes }, placeOf(open)), parts)
          const payload = { headers, body: mail }
          return acceptRequest(open, { ...request, payload, files, text: JSON.stringify(mail) }, parts)
        },
        /** Reads the body of a verified request. One that can't be read is listed as failed. */
        read: <T>(headers: Payload['headers'], read: () => T | Promise<T>) => reading(open, headers, read, parts),
      }
    },
  }
}

/** Finds the trigger of a token. Undefined if there is none, or if it is disabled: senders can't tell the difference. */
async function openTrigger(token: string, parts: InletParts): Promise<OpenTrigger | undefined> {
  const { now, storage } = parts
  const trigger = await triggers.findByToken(storage.db, sha256(token))
  if (!trigger?.enabled) return undefined
  const snapshot = await findSnapshot(trigger.agent_id, parts)
  if (!snapshot) return undefined
  const { status, person_id } = await rightToRun(storage.db, trigger, snapshot.agent, now())
  if (status !== 'active') {
    await triggers.disable(storage.db, trigger, `key_${status}`)
    return undefined
  }
  const actor = { id: trigger.updated_by, ...(person_id !== null && { person_id }) }
  return { trigger, project_id: snapshot.project.id, actor }
}

/** Verifies a request. Throws `unauthorized` if it isn't proven to be from the trigger's sender. */
async function proveRequest(
  { trigger, project_id }: OpenTrigger,
  request: Omit<SignedRequest, 'now'>,
  parts: InletParts,
): Promise<{ event: string | undefined }> {
  const settings = trigger.verify
  const known = settings.scheme === 'none' ? {} : await parts.secrets(project_id)
  const secret =
    settings.scheme === 'none' || !Object.hasOwn(known, settings.secret) ? undefined : known[settings.secret]
  const proof = verify(settings, secret?.value, { ...request, now: parts.now() })
  if (!proof.refusal) return proof
  await noteRefusal(trigger, proof.refusal, parts)
  parts.telemetry.incoming.add(1, 'refused')
  const { reason } = proof.refusal
  throw new ApiError('unauthorized', reason, { headers: { 'WWW-Authenticate': challengeOf(settings) } })
}

async function noteRefusal(trigger: Trigger, { code, reason }: VerifyRefusal, parts: InletParts): Promise<void> {
  const { allowed } = await parts.limiter.take(`refused trigger:${trigger.id}`, REFUSALS)
  if (!allowed) return
  // Nothing of a forged request is stored.
  await incoming.insert(parts.storage.db, { ...newDelivery(trigger, parts), outcome: 'refused', code, reason })
}

const placeOf = ({ trigger, project_id }: OpenTrigger) => ({ id: trigger.id, project_id })

async function reading<T>(
  { trigger }: OpenTrigger,
  headers: Payload['headers'],
  read: () => T | Promise<T>,
  parts: InletParts,
): Promise<T> {
  try {
    return await read()
  } catch (error) {
    const delivery = { ...newDelivery(trigger, parts), headers: plainHeaders(headers) }
    throw await noteFailure(delivery, error, parts)
  }
}

/** Lists a verified request that starts no run because of an error of its own. Returns the error. */
async function noteFailure(delivery: IncomingDelivery, error: unknown, parts: InletParts): Promise<unknown> {
  if (!(error instanceof ApiError) || error.code === 'not_found') return error
  const { code, message: reason } = error
  await incoming.insert(parts.storage.db, { ...delivery, outcome: 'failed', code, reason })
  parts.telemetry.incoming.add(1, 'failed')
  return error
}

/**
 * Starts the run of a verified request. Its delivery and its queued run are one commit, and the sender gets its reply
 * afterwards.
 */
async function acceptRequest(open: OpenTrigger, request: VerifiedRequest, parts: InletParts): Promise<InletReply> {
  const { trigger } = open
  const { payload, text } = request
  const challenge = challengeIn(trigger, payload)
  if (challenge !== undefined) return { status: 200, body: { challenge } }
  const press = trigger.kind === 'webhook' ? undefined : CHANNELS[trigger.kind].readPress(payload)
  if (press) {
    const said = await decidePress(open, { press, request_id: request.request_id }, parts)
    if (said !== undefined) showDecision(open, press, said, parts)
    return { status: 200, body: { success: true, data: { ignored: said === undefined } } }
  }
  const headers = plainHeaders(payload.headers)
  const body = Buffer.byteLength(text) > KEPT_BYTES ? null : storable(text)
  const delivery = { ...newDelivery(trigger, parts), headers, body }
  let user: Pick<IncomingDelivery, 'user_id' | 'session_id'> | undefined
  try {
    const event = readEvent(trigger, { headers, body: payload.body }, request.event)
    user = { user_id: event.user_id, session_id: event.session_id }
    const ignored = event.isWanted ? await countMail(trigger, event, parts) : (event.ignored ?? NOT_WANTED)
    if (ignored) {
      // A sender may send many events that the trigger doesn't want, so their payloads aren't stored.
      const left = { ...delivery, ...ignored, headers: {}, body: null }
      await incoming.insert(parts.storage.db, { ...left, outcome: 'filtered' })
      parts.telemetry.incoming.add(1, 'filtered')
      return { status: 200, body: { success: true, data: { ignored: true, delivery_id: delivery.id } } }
    }
    try {
      return await commitRun(open, { ...request, read: event, delivery }, parts)
    } catch (error) {
      await uncountMail(trigger, event, parts)
      throw error
    }
  } catch (error) {
    // It contains what the user wrote, and must be found when the user is erased.
    const written = error instanceof UnusableEvent ? { user_id: error.user_id } : user
    throw await noteFailure({ ...delivery, ...written }, error, parts)
  }
}

const NOT_WANTED = { code: null, reason: null }

type ReadRequest = VerifiedRequest & { read: ReadEvent; delivery: IncomingDelivery }

async function commitRun(open: OpenTrigger, request: ReadRequest, parts: InletParts): Promise<InletReply> {
  const { files = [] } = request
  const received = files.length > 0 ? await MailFiles.receive(files, open.project_id, parts) : undefined
  try {
    return await commitWith(received, open, request, parts)
  } finally {
    await received?.release()
  }
}

async function commitWith(
  files: MailFiles | undefined,
  { trigger, actor, project_id }: OpenTrigger,
  { request_id, read, delivery, files: sent = [] }: ReadRequest,
  parts: InletParts,
): Promise<InletReply> {
  const { event_key, user_id, session_id } = read
  const stored = { ...delivery, outcome: 'accepted', event_key, request_id, user_id, session_id } as const
  /** The run whose question the message answers. */
  let answered: string | undefined
  const earlier = await parts.storage.transaction(async (db) => {
    if (!(await triggers.isUnchanged(db, trigger))) {
      const isOpen = (await triggers.findByToken(db, trigger.token_hash))?.enabled
      throw isOpen ? unavailable('The trigger has just been changed. Send the request again.') : noTrigger()
    }
    const known = await incoming.insert(db, stored)
    if (known) return known
    const { text = '' } = read
    const written = { text: withNames(text, sent), user_id, session_id, request_id }
    answered = text === '' ? undefined : await answerQuestion(db, { trigger, project_id }, written, parts)
    if (answered !== undefined) {
      await incoming.setRequest(db, delivery.id, answered)
      return undefined
    }
    const agent = await agents.find(db, trigger.agent_id)
    if (!agent) throw noTrigger()
    const by = { actor, delivery_id: delivery.id, request_id, files }
    await startRun(db, { trigger, agent, event: read }, by, parts)
    return undefined
  })
  parts.telemetry.incoming.add(1, earlier ? 'repeated' : 'accepted')
  if (!earlier) {
    if (read.conversation) showTyping({ trigger, project_id }, read.conversation, parts)
    const data = { request_id: answered ?? request_id, status: 'queued', delivery_id: delivery.id }
    return { status: 202, body: { success: true, data } }
  }
  const data = { request_id: earlier.request_id, repeated: true, delivery_id: earlier.id }
  return { status: 200, body: { success: true, data } }
}

/** The answer to a question has no files, so it names those that were sent with it. */
function withNames(text: string, files: readonly MailFile[]): string {
  const names = files.map(({ name }) => name).join(', ')
  return names === '' ? text : `${text}\n\n[Left out, because an answer can't have files: ${names}]`
}

/** The same for a token that no trigger has, and for one that a disabled trigger has. */
function noTrigger(): ApiError {
  return new ApiError('not_found', "There's no trigger at this URL.")
}

/** A delivery about which nothing is known yet. */
export function newDelivery({ id, agent_id }: Trigger, { newId, now }: Pick<Parts, 'newId' | 'now'>) {
  const created_at = now()
  const unknown = { code: null, reason: null, event_key: null, request_id: null, replay_of: null, user_id: null }
  const none = { ...unknown, session_id: null, repeats: 0, headers: {}, body: null }
  const delivery: IncomingDelivery = {
    ...none,
    id: newId('inc', created_at),
    trigger_id: id,
    agent_id,
    outcome: 'failed',
    created_at,
  }
  return delivery
}
