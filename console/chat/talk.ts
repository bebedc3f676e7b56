import { signal } from '@preact/signals'
import {
  type Ask,
  ChatFailure,
  cancel,
  decide,
  follow,
  history,
  type NewFile,
  type ReadEvent,
  rate,
  send,
} from './chat-client.ts'

/** A message of the visitor, and what was answered so far. */
export type Exchange = {
  /** Its Idempotency-Key. */
  key: string
  request_id: string | undefined
  message: string
  files: NewFile[]
  file_names: string[]
  answer: string
  state: 'answering' | 'working' | 'waiting' | 'done' | 'failed' | 'cancelled'
  asks: Ask[]
  problem: string | undefined
  /** Sending it again may help. */
  canRepeat: boolean
  score: number | null
}

const RETRIES = 5
const RETRY_MS = 1_000
/** Sending the message again would change nothing. */
const LASTING = new Set(['budget_exceeded', 'not_found', 'forbidden', 'invalid_request', 'payload_too_large'])
const KEPT_AS = `moorage-chat ${location.pathname}`

export const exchanges = signal<readonly Exchange[]>([])
export const isLoading = signal(true)
export const loadProblem = signal<string | undefined>(undefined)
/** For screen readers: the latest answer. */
export const spoken = signal('')
/** The answer that the reader is getting. */
export const current = signal<string | undefined>(undefined)

let session_id = kept() ?? 'main'
let stop = new AbortController()

/** Frames of other sites may have no storage. Then every page shows the first conversation. */
function kept(): string | undefined {
  try {
    return localStorage.getItem(KEPT_AS) ?? undefined
  } catch {
    return undefined
  }
}

export async function load(): Promise<void> {
  try {
    const stored = await history(session_id)
    exchanges.value = stored.map(({ request_id, message, response, status, attachments, error, score }) => ({
      key: request_id,
      request_id,
      message,
      files: [],
      file_names: attachments.map(({ name }) => name),
      answer: response ?? '',
      state: status === 'completed' ? 'done' : status === 'failed' || status === 'cancelled' ? status : 'answering',
      asks: [],
      problem: error?.message,
      canRepeat: false,
      score,
    }))
    const open = exchanges.value.findLast(({ state }) => state === 'answering')
    if (open?.request_id) void receive(open.key, () => follow(open.request_id as string, '', stop.signal))
  } catch (error) {
    loadProblem.value = (error as Error).message
  } finally {
    isLoading.value = false
  }
}

/** Begins another conversation. The earlier ones stay with the service. */
export function beginAnew(): void {
  stop.abort()
  stop = new AbortController()
  session_id = crypto.randomUUID?.() ?? `${Date.now()}`
  try {
    localStorage.setItem(KEPT_AS, session_id)
  } catch {
    // The next visit begins with the first conversation.
  }
  exchanges.value = []
  current.value = undefined
}

export function say(message: string, files: NewFile[]): void {
  const key = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`
  const file_names = files.map(({ name }) => name)
  const state = { answer: '', state: 'answering' as const, asks: [], problem: undefined, canRepeat: false, score: null }
  exchanges.value = [...exchanges.value, { key, request_id: undefined, message, files, file_names, ...state }]
  void receive(key, () => sendOf(key))
}

/** Sends an unanswered message again. */
export function repeat(key: string): void {
  change(key, { state: 'answering', problem: undefined, canRepeat: false, answer: '' })
  void receive(key, () => sendOf(key))
}

function sendOf(key: string): AsyncGenerator<ReadEvent> {
  const { message = '', files = [] } = find(key) ?? {}
  return send({ message, session_id, attachments: files, key }, stop.signal)
}

/** Shows the events of an answer. If they break off, it follows from where they did. */
async function receive(key: string, begin: () => AsyncGenerator<ReadEvent>): Promise<void> {
  const { signal: stopped } = stop
  current.value = key
  let events = begin
  let after = ''
  for (let tries = 0; ; tries += 1) {
    try {
      for await (const event of events()) {
        if (event.id !== '') after = event.id
        tries = 0
        show(key, event)
      }
      if (isSettled(key)) break
    } catch (error) {
      if (stopped.aborted) return
      if (error instanceof ChatFailure && error.code !== 'offline' && error.code !== 'unavailable') {
        fail(key, error)
        break
      }
      if (tries >= RETRIES) {
        fail(key, error as Error)
        break
      }
    }
    if (stopped.aborted) return
    const { request_id } = find(key) ?? {}
    if (request_id) events = () => follow(request_id, after, stopped)
    await new Promise((done) => setTimeout(done, tries === 0 ? 0 : RETRY_MS * tries))
  }
  if (current.value === key) current.value = undefined
}

function isSettled(key: string): boolean {
  const state = find(key)?.state ?? 'done'
  return state === 'done' || state === 'failed' || state === 'cancelled' || (find(key)?.asks.length ?? 0) > 0
}

function show(key: string, { event, data }: ReadEvent): void {
  const { answer = '' } = find(key) ?? {}
  switch (event) {
    case 'start':
      return change(key, { request_id: data.request_id })
    case 'restart':
      return change(key, { answer: '', state: 'answering' })
    case 'delta':
      return change(key, { answer: answer + data.text, state: 'answering', asks: [] })
    case 'working':
      return change(key, { state: 'working' })
    case 'waiting':
      spoken.value = data.approvals[0]?.question ?? 'Waiting for a decision'
      return change(key, { state: 'waiting', asks: data.approvals })
    case 'done':
      spoken.value = data.data.response
      return change(key, { answer: data.data.response, state: 'done', asks: [] })
    case 'error':
      // The node stops. Another one, or the next start, continues.
      if (data.error.code === 'unavailable') throw new ChatFailure(data.error)
      return fail(key, new ChatFailure(data.error))
    default:
  }
}

function fail(key: string, error: Error): void {
  const code = error instanceof ChatFailure ? error.code : ''
  spoken.value = error.message
  const wasCancelled = find(key)?.state === 'cancelled'
  if (wasCancelled) return
  const { request_id } = find(key) ?? {}
  change(key, { state: 'failed', problem: error.message, canRepeat: !LASTING.has(code) && request_id === undefined })
}

export async function answerAsk(key: string, ask: Ask, body: object): Promise<void> {
  const { request_id } = find(key) ?? {}
  if (!request_id) return
  await decide(request_id, ask.call_id, body)
  const asks = find(key)?.asks.filter(({ call_id }) => call_id !== ask.call_id) ?? []
  change(key, { asks, ...(asks.length === 0 && { state: 'answering' as const, answer: '' }) })
  if (asks.length === 0) void receive(key, () => follow(request_id, '', stop.signal))
}

export async function stopAnswer(key: string): Promise<void> {
  const { request_id } = find(key) ?? {}
  if (!request_id) return
  change(key, { state: 'cancelled' })
  await cancel(request_id).catch(() => {})
}

export async function rateAnswer(key: string, score: number): Promise<void> {
  const { request_id } = find(key) ?? {}
  if (!request_id) return
  await rate(request_id, score)
  change(key, { score })
}

function find(key: string): Exchange | undefined {
  return exchanges.value.find((one) => one.key === key)
}

function change(key: string, changes: Partial<Exchange>): void {
  exchanges.value = exchanges.value.map((one) => (one.key === key ? { ...one, ...changes } : one))
}
