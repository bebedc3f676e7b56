import { type AskedSignIn, signInWords } from '../../runtime/approvals/sign-in-words.ts'
import type { Keyring } from '../../security/keyring.ts'
import { openHeaders, type Webhook } from '../webhook.ts'

/** In an event, a longer response may have been cut. */
const WHOLE_BYTES = 32_000

const STATE_OF: Record<string, string> = {
  waiting: 'TASK_STATE_INPUT_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
}

type RunEvent = {
  timestamp: string
  data: {
    request_id: string
    status: string
    response?: string
    output?: unknown
    error?: { message: string }
    approvals?: readonly AskedSignIn[]
    context: { session_id: string | null }
  }
}

/** The text that a webhook receives for an event. */
export function sentBody({ format }: Pick<Webhook, 'format'>, body: string): string {
  return format === 'a2a' ? JSON.stringify({ task: taskOf(JSON.parse(body)) }) : body
}

export function sentHeaders(webhook: Pick<Webhook, 'format' | 'headers'>, keyring: Keyring): Record<string, string> {
  const type = webhook.format === 'a2a' ? { 'Content-Type': 'application/a2a+json' } : {}
  return { ...openHeaders(webhook, keyring), ...type }
}

/**
 * The run as an A2A 1.0 task. A response that may have been cut is left out, and a client that needs it can get the
 * task.
 */
function taskOf({ timestamp, data }: RunEvent) {
  const { request_id: id, status, response, output, error, approvals = [], context } = data
  const signIn = status === 'waiting' ? signInWords(approvals) : undefined
  const words = signIn ?? error?.message
  const contextId = context.session_id ?? id
  const message = words !== undefined && {
    messageId: `${id}-answer`,
    contextId,
    taskId: id,
    role: 'ROLE_AGENT',
    parts: [textPart(words)],
  }
  const value = output === undefined ? [] : [{ data: output, mediaType: 'application/json' }]
  const isWhole = response && Buffer.byteLength(response) <= WHOLE_BYTES
  return {
    id,
    contextId,
    status: {
      state: signIn === undefined ? STATE_OF[status] : 'TASK_STATE_AUTH_REQUIRED',
      timestamp,
      ...(message && { message }),
    },
    ...(isWhole && {
      artifacts: [{ artifactId: 'response', name: 'response', parts: [textPart(response), ...value] }],
    }),
  }
}

function textPart(text: string) {
  return { text, mediaType: 'text/plain' }
}
