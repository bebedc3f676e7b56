import { z } from 'zod'
import { invalid } from '../../../errors.ts'
import { type AskedSignIn, signInWords } from '../../../runtime/approvals/sign-in-words.ts'
import type { TranscriptLength } from '../../../runtime/following/transcript.ts'
import type { ResumeEntry } from './sent-run.ts'

/** What a run asks, as `waiting` events and lists of approvals contain it. */
export type Asked = {
  call_id: string
  kind: 'tool' | 'question' | 'retry' | 'connection'
  tool: string
  arguments?: Record<string, unknown>
  expires_at: string
  connection?: NonNullable<AskedSignIn['connection']>
  child?: { request_id: string; agent: string }
}

/** What a `waiting` event contains. */
export type Waiting = { request_id: string; approvals?: readonly Asked[]; reason?: string }

/** What an interrupt's ID names: the run, how much of it the client has received, and what is asked. */
export type InterruptName = {
  request_id: string
  told: TranscriptLength
  /** The call to decide, and the run that asks, which may be a child. Absent if no person has to decide. */
  asked?: { request_id: string; call_id: string }
}

const RequestId = z.string().regex(/^req_[0-9A-HJKMNP-TV-Z]{26}$/)
const Named = z.tuple([RequestId, z.int().min(0), z.int().min(0), RequestId.nullable(), z.string().nullable()])

/** An ID contains all that is needed to resume, so nothing has to be stored for it. Every part is checked again. */
function interruptId({ request_id, told, asked }: InterruptName): string {
  const parts = [request_id, told.characters, told.tools, asked?.request_id ?? null, asked?.call_id ?? null]
  return `int_${Buffer.from(JSON.stringify(parts)).toString('base64url')}`
}

/** The interrupts that the client answers, all of the same run. */
export function readInterrupts(entries: readonly ResumeEntry[]): [InterruptName, ...InterruptName[]] {
  const names = entries.map(({ interruptId: id }, i) => {
    const name = readInterruptId(id)
    if (!name) throw invalid({ field: `resume.${i}.interruptId`, error: 'is not the ID of an interrupt' })
    return name
  })
  const other = names.findIndex(({ request_id }) => request_id !== names[0]?.request_id)
  if (other > 0) throw invalid({ field: `resume.${other}.interruptId`, error: 'belongs to another run than the first' })
  return names as [InterruptName, ...InterruptName[]]
}

function readInterruptId(id: string): InterruptName | undefined {
  const parts = Named.safeParse(jsonIn(Buffer.from(id.replace(/^int_/, ''), 'base64url').toString()))
  if (!parts.success) return undefined
  const [request_id, characters, tools, asking, call_id] = parts.data
  const asked = asking !== null && call_id !== null ? { asked: { request_id: asking, call_id } } : {}
  return { request_id, told: { characters, tools }, ...asked }
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a run waits for, as AG-UI's interrupts. `callIdOf` returns the client's ID for a call of the run. */
export function interruptsOf(
  { request_id, approvals = [], reason }: Waiting,
  told: TranscriptLength,
  callIdOf: (call_id: string) => string | undefined,
): object[] {
  // The project or the service is paused, so there is nothing to decide. The client can only try again later.
  if (approvals.length === 0) {
    return [{ id: interruptId({ request_id, told }), reason: 'paused', ...(reason && { message: reason }) }]
  }
  return approvals.map((ask) => {
    const { call_id, kind, tool, arguments: args, expires_at, connection, child } = ask
    const toolCallId = child ? undefined : callIdOf(call_id)
    return {
      id: interruptId({ request_id, told, asked: { request_id: child?.request_id ?? request_id, call_id } }),
      reason: REASONS[kind],
      message: messageOf(ask),
      ...(toolCallId && { toolCallId }),
      ...(kind !== 'connection' && { responseSchema: kind === 'question' ? answerSchema(ask) : DECISION }),
      expiresAt: expires_at,
      metadata: {
        kind,
        tool,
        ...(args && { arguments: args }),
        ...(connection && { connection }),
        ...(child && { agent: child.agent }),
      },
    }
  })
}

const REASONS = { tool: 'tool_call', retry: 'tool_call', question: 'input_required', connection: 'sign_in' }

function messageOf({ kind, tool, arguments: args, connection }: Asked): string {
  if (kind === 'question') return String(args?.['question'] ?? 'The agent has a question.')
  if (kind === 'connection') return signInWords([{ kind, connection }]) || `Sign in to ${tool}`
  return kind === 'tool' ? `Approve the call of ${tool}?` : `The call of ${tool} was interrupted. Make it again?`
}

const DECISION = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, arguments: { type: 'object' }, note: { type: 'string' } },
  required: ['approved'],
}

function answerSchema({ arguments: args }: Asked): object {
  const options = args?.['options']
  const answer = { type: 'string', ...(Array.isArray(options) && options.length > 0 && { examples: options }) }
  return { type: 'object', properties: { answer }, required: ['answer'] }
}

const Decision = z.looseObject({
  approved: z.boolean(),
  arguments: z.record(z.string(), z.unknown()).optional(),
  note: z.string().optional(),
})

/** The body with which our own API would be asked to decide. */
export function decisionOf({ status, payload }: ResumeEntry, kind: Asked['kind'], field: string): object {
  if (status === 'cancelled') return { decision: 'reject' }
  if (kind === 'connection') return { decision: 'approve' }
  if (kind === 'question') {
    const answer = typeof payload === 'string' ? payload : (Object(payload) as { answer?: unknown }).answer
    if (typeof answer !== 'string') throw invalid({ field, error: 'must be the answer, or an object with `answer`' })
    return { decision: 'approve', answer }
  }
  const told = Decision.safeParse(typeof payload === 'boolean' ? { approved: payload } : payload)
  if (!told.success) throw invalid({ field, error: 'must be true, false, or an object with `approved`' })
  const { approved, arguments: changed, note } = told.data
  return {
    decision: approved ? 'approve' : 'reject',
    ...(approved && changed && { arguments: changed }),
    ...(note !== undefined && { note }),
  }
}
