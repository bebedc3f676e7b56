import type { ErrorCode } from '../../../errors.ts'
import type { RenderedReply, Visitor, Writer } from '../dialect.ts'
import { enveloped } from '../moorage.ts'
import { messageFor } from './visitor-error.ts'

/** The parts of our own replies of which visitors see something. */
type OwnReply = {
  request_id: string
  status?: string
  message?: string
  response?: string | null
  created_at?: string
  attachments?: { name: string; media_type: string; size: number }[]
  approvals?: OwnAsk[]
  context?: { session_id?: string }
  steps?: { kind: string; status?: string }[]
  error?: { code: ErrorCode } | null
  feedback?: { key: string; score: number; comment: string | null }[]
}

type OwnAsk = { call_id: string; kind: string; tool: string; arguments: Record<string, unknown>; child?: unknown }

/** What a visitor reads of what the service says. `event` writes nothing for an event that isn't for them. */
export function visitorWriter(visitor: Pick<Visitor, 'mayDecide'>, session_id?: string): Writer {
  const mayDecide: MayDecide = (ofReceipt = session_id) => ofReceipt !== undefined && visitor.mayDecide(ofReceipt)
  return {
    reply(operation, result, asked) {
      const reply = enveloped.reply(operation, result, asked)
      return shown(reply, SHOWN[operation.id] ?? answerOf, mayDecide)
    },
    event(event) {
      const { id, event: name, data } = event
      if (name === 'waiting') {
        const waiting = data as OwnReply
        return enveloped.event({ id, event: name, data: answerOf(waiting, mayDecide) })
      }
      if (SHOWN_EVENTS.has(name)) return enveloped.event(event)
      // The page shows that something happens, and not what.
      return name === 'tool_call' ? enveloped.event({ id, event: 'working', data: {} }) : ''
    },
    replay: enveloped.replay,
  }
}

const SHOWN_EVENTS: ReadonlySet<string> = new Set(['start', 'restart', 'queued', 'delta', 'done', 'error'])

/** By the session of the receipt, or else of the request. */
type MayDecide = (session_id?: string) => boolean

type Shown = (data: OwnReply, mayDecide: MayDecide) => unknown

const SHOWN: Readonly<Record<string, Shown>> = {
  listInvocations: messageOf,
  getInvocation: messageOf,
  cancelInvocation: messageOf,
  decideApproval: () => ({ decided: true }),
  giveFeedback: () => ({ stored: true }),
}

function shown(reply: RenderedReply, of: Shown, mayDecide: MayDecide): RenderedReply {
  const { data, ...rest } = JSON.parse(reply.body) as {
    data: OwnReply | OwnReply[]
    pagination?: { has_more: boolean }
  }
  const body = Array.isArray(data)
    ? { data: data.map((item) => of(item, mayDecide)), has_more: rest.pagination?.has_more ?? false }
    : { success: true, data: of(data, mayDecide) }
  return { status: reply.status, headers: {}, body: JSON.stringify(body) }
}

/** The answer to a message, or what it waits for. */
function answerOf({ request_id, status, response, approvals, context }: OwnReply, mayDecide: MayDecide): unknown {
  return {
    request_id,
    ...(status !== undefined && { status }),
    ...(response !== undefined && { response }),
    ...(approvals && { approvals: approvals.flatMap((ask) => askOf(ask, mayDecide(context?.session_id))) }),
  }
}

/** What the visitor is asked. What other people decide isn't shown to them, and neither is what another agent asks. */
function askOf({ call_id, kind, tool, arguments: given, child }: OwnAsk, mayDecide: boolean): unknown[] {
  if (!mayDecide || child !== undefined) return []
  return [{ call_id, kind, ...(kind === 'question' ? given : { tool, arguments: given }) }]
}

/** A message of the conversation, and its answer so far. */
function messageOf(receipt: OwnReply, mayDecide: MayDecide): unknown {
  const { status, message, created_at, attachments = [], feedback } = receipt
  // Visitors cancel their messages themselves, so nothing went wrong.
  const error = status === 'cancelled' ? null : receipt.error
  const rating = feedback?.find(({ key }) => key === 'rating')
  return {
    ...(answerOf(receipt, mayDecide) as object),
    message,
    created_at,
    attachments: attachments.map(({ name, media_type, size }) => ({ name, media_type, size })),
    error: error ? { code: error.code, message: messageFor(error.code) } : null,
    score: rating?.score ?? null,
  }
}
