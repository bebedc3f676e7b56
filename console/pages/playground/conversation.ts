import { type Signal, signal } from '@preact/signals'
import {
  type Client,
  type Invocation,
  type InvocationEvent,
  type InvocationResult,
  MoorageError,
} from '../../../sdk/client.ts'
import { attachedTo, type ShownAttachment, type ShownFile } from '../../lib/files/shown-file.ts'
import { projectHere } from '../../lib/projects/chosen-project.ts'
import { serviceWhile } from '../../lib/service.ts'
import { sessionLife } from '../../lib/session-state.ts'

type ToolCall = { id: string; name: string; arguments: unknown; result?: string; error?: string }

/** A message and its answer, during and after its arrival. */
export type ShownInvocation = {
  key: string
  message: string
  attachments: ShownAttachment[]
  response: string
  /** An answer that is still arriving and not checked yet. */
  draft?: string | undefined
  isRunning: boolean
  /** Set if the reader stopped it before its run had an ID. */
  isStopped?: boolean
  request_id?: string
  tools: ToolCall[]
  error?: MoorageError
  /** Set once the run has ended or waits. */
  run?: Invocation
}

export type Conversation = {
  agent: string
  session: string
  invocations: Signal<ShownInvocation[]>
  /** Why the earlier invocations could not be loaded. */
  error: Signal<MoorageError | undefined>
  /** How many messages were sent from this page. */
  sent: number
  /** Resolves when the last sent message has an ID or was refused. */
  sending: Promise<void> | undefined
  /** The keys of waiting runs that the reader may not read. */
  unreadable: Set<string>
  /** Aborts when the reader's session ends. Requests are made only for that reader. */
  life: AbortSignal
  service: Client
}

const SHOWN = 100
/** How often to check whether a person has decided. */
const DECISION_MS = 3_000

/**
 * The signed-in reader's conversations. They outlive the page, so an answer keeps arriving while the reader looks at
 * another page.
 */
const known = new Map<string, Conversation>()

/** A session's conversation. `watchConversation` loads what the service has of it. */
export function openConversation(agent: string, session: string): Conversation {
  const key = `${projectHere()} ${agent} ${session}`
  const found = known.get(key)
  if (found) return found
  const life = sessionLife()
  const conversation: Conversation = {
    agent,
    session,
    invocations: signal([]),
    error: signal(undefined),
    sent: 0,
    sending: undefined,
    unreadable: new Set(),
    life,
    service: serviceWhile(life),
  }
  known.set(key, conversation)
  life.addEventListener('abort', () => known.delete(key))
  return conversation
}

/**
 * Loads what the service has of the conversation, and checks regularly whether its waiting runs have resumed. Returns a
 * function that stops this, because nothing is requested for a conversation that isn't shown.
 */
export function watchConversation(conversation: Conversation): () => void {
  const seen = new AbortController()
  void (async () => {
    await loadConversation(conversation)
    while (!seen.signal.aborted && !conversation.life.aborted) {
      await new Promise((wake) => setTimeout(wake, DECISION_MS))
      if (!seen.signal.aborted && !document.hidden) await resumeWaiting(conversation)
    }
  })()
  return () => seen.abort()
}

/** Loads the conversation again, because others may have added to the session. */
export async function loadConversation(conversation: Conversation): Promise<void> {
  const { agent, session, invocations, error, service } = conversation
  error.value = undefined
  const query = { session_id: session, sort: '-created_at' as const, limit: SHOWN }
  try {
    let loaded: Invocation[]
    let sent: number
    // A message that is being sent has no ID yet. The list may already contain its run, which would then be shown
    // twice.
    do {
      await conversation.sending
      sent = conversation.sent
      loaded = (await service.invocations.list(agent, query)).data.toReversed()
    } while (sent !== conversation.sent)
    const before = invocations.value
    invocations.value = merged(before, loaded)
    const isFollowed = (key: string) => before.some((one) => one.key === key && one.isRunning)
    for (const { key, request_id, isRunning } of invocations.value) {
      if (isRunning && request_id && !isFollowed(key)) follow(conversation, key, request_id)
    }
  } catch (caught) {
    error.value = caught as MoorageError
  }
}

/** Messages that are still arriving stay as they are. A refused message has no run and comes last. */
function merged(shown: readonly ShownInvocation[], loaded: readonly Invocation[]): ShownInvocation[] {
  const byId = new Map(shown.map((one) => [one.request_id, one]))
  const ids = new Set(loaded.map(({ request_id }) => request_id))
  const fromList = loaded.map((run) => {
    const one = byId.get(run.request_id)
    return one?.isRunning ? one : { ...shownOf(run), ...(one && { key: one.key, tools: one.tools }) }
  })
  return [
    ...fromList,
    ...shown.filter(({ request_id, isRunning }) => !request_id || (isRunning && !ids.has(request_id))),
  ]
}

/** A waiting run has ended its stream. When the run resumes, so does the conversation. */
export async function resumeWaiting(conversation: Conversation): Promise<void> {
  const { agent, invocations, unreadable, service } = conversation
  for (const { key, run, isRunning } of invocations.value) {
    if (isRunning || run?.status !== 'waiting' || unreadable.has(key)) continue
    try {
      const now = await service.invocations.get(agent, run.request_id)
      const isFollowed = invocations.value.some((one) => one.key === key && one.isRunning)
      if (isFollowed) continue
      // The run may have resumed and may now wait for something else.
      if (now.status === 'waiting') change(conversation, key, () => ({ run: now }))
      else follow(conversation, key, now.request_id)
    } catch (error) {
      // An unavailable service will be back. Without the permission to read, retrying makes no sense.
      if ([403, 404].includes((error as MoorageError).status)) unreadable.add(key)
    }
  }
}

function follow(conversation: Conversation, key: string, request_id: string): void {
  change(conversation, key, () => ({ isRunning: true }))
  void receive(conversation, key, conversation.service.invocations.follow(conversation.agent, request_id))
}

function find({ invocations }: Conversation, key: string): ShownInvocation | undefined {
  return invocations.value.find((one) => one.key === key)
}

function change(
  { invocations }: Conversation,
  key: string,
  how: (before: ShownInvocation) => Partial<ShownInvocation>,
): void {
  invocations.value = invocations.value.map((one) => (one.key === key ? { ...one, ...how(one) } : one))
}

function shownOf(run: Invocation): ShownInvocation {
  const isRunning = ['queued', 'running'].includes(run.status)
  const { request_id, message, attachments, response, error } = run
  return {
    key: request_id,
    message,
    attachments,
    response: isRunning ? '' : (response ?? ''),
    isRunning,
    request_id,
    tools: [],
    ...(!isRunning && { run }),
    ...(error && { error: new MoorageError(error.code, error.message, { request_id, details: error.details }) }),
  }
}

/** A message that the reader sends. */
export type OutgoingMessage = { message: string; attachments: ShownFile[] }

/** Sends a message and shows the answer as it arrives. */
export function say(
  conversation: Conversation,
  { message, attachments: given }: OutgoingMessage,
  { user, environment }: { user?: string | undefined; environment?: string | undefined },
): void {
  const { agent, session, invocations, service } = conversation
  const key = `${Date.now()} ${invocations.value.length}`
  // What a model was shown of the files earlier doesn't matter here.
  const attachments = given.map(({ file_id, name, media_type, size }) => ({ file_id, name, media_type, size }))
  invocations.value = [...invocations.value, { key, message, attachments, response: '', isRunning: true, tools: [] }]
  const context = { session_id: session, ...(user && { user_id: user }) }
  const asked = { message, context, ...attachedTo(attachments), ...(environment && { environment }) }
  const { promise, resolve } = Promise.withResolvers<void>()
  conversation.sent += 1
  conversation.sending = promise
  void receive(conversation, key, service.agents.stream(agent, asked), resolve)
}

/** Cancels the run. Its text so far is kept. A run that has no ID yet is cancelled as soon as it has one. */
export async function stop(conversation: Conversation, key: string): Promise<void> {
  const { agent, service } = conversation
  change(conversation, key, () => ({ isStopped: true }))
  const request_id = find(conversation, key)?.request_id
  if (!request_id) return
  // The run may have ended in the meantime, or the service is unavailable. The reader can try again.
  await service.invocations
    .cancel(agent, request_id)
    .catch(() => change(conversation, key, () => ({ isStopped: false })))
}

type Events = AsyncIterable<InvocationEvent<InvocationResult>>

async function receive(conversation: Conversation, key: string, events: Events, onKnown?: () => void): Promise<void> {
  const { agent, service } = conversation
  let request_id: string | undefined
  try {
    for await (const event of events) {
      if (event.type === 'start') request_id = event.request_id
      change(conversation, key, (before) => heard(before, event))
      if (event.type === 'start' && find(conversation, key)?.isStopped) void stop(conversation, key)
      onKnown?.()
    }
  } catch (caught) {
    const error = caught as MoorageError
    request_id ??= find(conversation, key)?.request_id
    change(conversation, key, () => ({ error, isRunning: false }))
  }
  onKnown?.()
  // The receipt contains the steps. If it can't be read, the text is shown without them.
  const run = request_id && (await service.invocations.get(agent, request_id).catch(() => undefined))
  change(conversation, key, () => ({ isRunning: false, ...(run && { run, attachments: run.attachments }) }))
}

function heard(
  { response, draft = '', tools }: ShownInvocation,
  event: InvocationEvent<InvocationResult>,
): Partial<ShownInvocation> {
  switch (event.type) {
    // Both come before anything that the run has said.
    case 'start':
    case 'restart':
      return { request_id: event.request_id, response: '', draft: undefined, tools: [] }
    case 'delta':
      return { response: response + event.text, draft: undefined }
    case 'output.delta':
      return { draft: draft.slice(0, event.at) + event.text }
    case 'tool_call':
      return { tools: [...tools, event] }
    case 'tool_result':
      return { tools: tools.map((tool) => (tool.id === event.id ? { ...tool, ...event } : tool)) }
    case 'queued':
      return { draft: `Waiting for its turn (position ${event.position})` }
    // The receipt shows that the run waits.
    case 'waiting':
      return {}
    case 'done':
      return { response: event.data.response }
  }
}
