import { type AskedSignIn, signInWords } from '../../../runtime/approvals/sign-in-words.ts'
import type { Given } from '../../../runtime/given.ts'
import { type AnsweredRun, argumentsText, type CallerCall, earlyFinish, seconds } from './answered.ts'
import { bareId, callId, itemIdOfCall, messageId, responseId } from './ids.ts'

/** A response as the client sees it. */
export type ResponseObject = Record<string, unknown> & { id: string; status: string; output: unknown[] }

/** What a response shows when it starts. It doesn't repeat the conversation that was sent with the request. */
type ResponseStart = Pick<AnsweredRun, 'request_id' | 'agent_id' | 'background' | 'created_at'> & {
  given: Omit<Given, 'history'> | null
}

const STATUS = {
  queued: 'queued',
  running: 'in_progress',
  waiting: 'in_progress',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const

export function responseOf(answered: AnsweredRun): ResponseObject {
  const { status, error, finished_at } = answered
  const early = status === 'completed' && answered.calls.length === 0 ? earlyFinish(answered) : undefined
  const reason = early === 'length' ? 'max_output_tokens' : 'content_filter'
  const isEnded = finished_at !== null
  return {
    ...begunResponse(answered),
    status: early ? 'incomplete' : STATUS[status],
    completed_at: status === 'completed' && isEnded ? seconds(finished_at) : null,
    error: status === 'failed' && error ? { code: 'server_error', message: error.message } : null,
    incomplete_details: early ? { reason } : null,
    output_text: answered.response ?? '',
    output: isEnded ? outputOf(answered, early ? 'incomplete' : 'completed') : [],
    usage: isEnded ? usageOf(answered) : null,
  }
}

/** A response before it has any content. */
export function begunResponse({ request_id, agent_id, background, given, created_at }: ResponseStart): ResponseObject {
  const { noted = {}, sampling = {} } = given ?? {}
  return {
    id: responseId(request_id, agent_id),
    object: 'response',
    created_at: seconds(created_at),
    status: 'in_progress',
    background,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: null,
    frequency_penalty: sampling.frequency_penalty ?? 0,
    max_output_tokens: sampling.max_output_tokens ?? null,
    max_tool_calls: null,
    model: agent_id,
    output: [],
    output_text: '',
    access_programs: null,
    parallel_tool_calls: true,
    presence_penalty: sampling.presence_penalty ?? 0,
    previous_response_id: null,
    prompt_cache_key: null,
    reasoning: { effort: null, summary: null },
    safety_identifier: null,
    service_tier: 'default',
    store: true,
    temperature: sampling.temperature ?? 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: toolsOf(given),
    top_logprobs: 0,
    top_p: sampling.top_p ?? 1,
    truncation: 'disabled',
    usage: null,
    metadata: {},
    ...noted,
  }
}

/** The response while its run waits: if it is for a sign-in, a comment says where. The answer later replaces it. */
export function waitingResponse(response: ResponseObject, asked: readonly AskedSignIn[] = []): ResponseObject {
  const words = signInWords(asked)
  if (words === undefined) return response
  const id = `msg_wait_${bareId(response.id)}`
  const content = [textPart(words)]
  const comment = { id, type: 'message', role: 'assistant', status: 'completed', phase: 'commentary', content }
  return { ...response, output: [comment], output_text: words }
}

/** The same response as it was when it started. */
export function unansweredResponse(response: ResponseObject): ResponseObject {
  const unanswered = { output: [], output_text: '', usage: null, completed_at: null, error: null }
  return { ...response, ...unanswered, status: 'in_progress', incomplete_details: null }
}

/** The response's tools. Clients read whether a tool is strict even if they didn't set it. */
function toolsOf(given: ResponseStart['given']): unknown[] {
  return (given?.tools ?? []).map(({ name, description, input_schema: parameters }) => {
    return { type: 'function', name, description, parameters, strict: false }
  })
}

function usageOf({ usage }: AnsweredRun) {
  const { input_tokens, output_tokens, total_tokens } = usage
  const { cached_tokens = 0, cache_write_tokens = 0, reasoning_tokens = 0 } = usage
  return {
    input_tokens,
    input_tokens_details: { cached_tokens, cache_write_tokens },
    output_tokens,
    output_tokens_details: { reasoning_tokens },
    total_tokens,
  }
}

/** The model's text, followed by the calls that it leaves to the caller. */
function outputOf({ request_id, response, calls }: AnsweredRun, status: string): unknown[] {
  const text = response ?? ''
  const said = text !== '' || calls.length === 0 ? [messageItem(request_id, text, status)] : []
  return [...said, ...calls.map((call) => callItem(request_id, call, 'completed'))]
}

export function messageItem(request_id: string, text: string, status: string) {
  const content = status === 'in_progress' ? [] : [textPart(text)]
  return { id: messageId(request_id), type: 'message', role: 'assistant', status, content }
}

export function textPart(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

export function callItem(request_id: string, call: CallerCall, status: string) {
  const text = status === 'in_progress' ? '' : argumentsText(call)
  const id = itemIdOfCall(request_id, call.index)
  return {
    id,
    type: 'function_call',
    call_id: callId(request_id, call.index),
    name: call.name,
    arguments: text,
    status,
  }
}
