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

/** One message and what came of it, while it comes and afterwards. */
export type ShownInvocation = {
  key: string
  message: string
  attachments: ShownAttachment[]
  response: string
  /** An answer that comes and is not checked yet. */
  draft?: string | undefined
  isRunning: boolean
  request_id?: string
  tools: ToolCall[]
  error?: MoorageError
  /** Known once the run has ended, or waits for a person. */
  run?: Invocation
}

export type Conversation = {
  agent: string
  session: string
  invocations: Signal<ShownInvocation[]>
  /** Why the earlier invocations could not be loaded. */
  error: Signal<MoorageError | undefined>
  /** Ends with the session of the reader, and the service is asked for that reader only. */
  life: AbortSignal
  service: Client
}

const SHOWN = 100
/** How often we ask whether a person has decided. */
const DECISION_MS = 3_000

/**
 * Conversations of the reader who is signed in. They outlive the page, so that an answer goes on arriving while the
 * reader looks at another one.
 */
const known = new Map<string, Conversation>()

/** The conversation of a session: what the service has of it, and what still comes. */
export function openConversation(agent: string, session: string, { isNew = false } = {}): Conversation {
  const key = `${projectHere()} ${agent} ${session}`
  const found = known.get(key)
  if (found) return found
  const life = sessionLife()
  const conversation: Conversation = {
    agent,
    session,
    invocations: signal([]),
    error: signal(undefined),
    life,
    service: serviceWhile(life),
  }
  known.set(key, conversation)
  life.addEventListener('abort', () => known.delete(key))
  if (!isNew) void loadEarlier(conversation)
  return conversation
}

export async function loadEarlier(conversation: Conversation): Promise<void> {
  const { agent, session, invocations, error, service } = conversation
  error.value = undefined
  const query = { session_id: session, sort: '-created_at' as const, limit: SHOWN }
  try {
    const { data } = await service.invocations.list(agent, query)
    const shown = new Set(invocations.value.map(({ request_id }) => request_id))
    const earlier = data
      .toReversed()
      .map(shownOf)
      .filter(({ request_id }) => !shown.has(request_id))
    invocations.value = [...earlier, ...invocations.value]
    for (const { key, request_id, isRunning, run } of earlier) {
      if (isRunning && request_id) void receive(conversation, key, service.invocations.follow(agent, request_id))
      if (run?.status === 'waiting') void waitForDecision(conversation, key, run)
    }
  } catch (caught) {
    error.value = caught as MoorageError
  }
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

/** What the reader says. */
export type Said = { message: string; attachments: ShownFile[] }

/** Sends a message and shows the answer as it comes. */
export function say(
  conversation: Conversation,
  { message, attachments: given }: Said,
  { user, environment }: { user?: string | undefined; environment?: string | undefined },
): void {
  const { agent, session, invocations, service } = conversation
  const key = `${Date.now()} ${invocations.value.length}`
  // What a model was shown of them before does not count.
  const attachments = given.map(({ file_id, name, media_type, size }) => ({ file_id, name, media_type, size }))
  invocations.value = [...invocations.value, { key, message, attachments, response: '', isRunning: true, tools: [] }]
  const context = { session_id: session, ...(user && { user_id: user }) }
  const asked = { message, context, ...attachedTo(attachments), ...(environment && { environment }) }
  void receive(conversation, key, service.agents.stream(agent, asked))
}

/** The run ends as cancelled; what it has said so far stays. */
export async function stop({ agent, service }: Conversation, { request_id }: ShownInvocation): Promise<void> {
  if (request_id) await service.invocations.cancel(agent, request_id)
}

type Events = AsyncIterable<InvocationEvent<InvocationResult>>

async function receive(conversation: Conversation, key: string, events: Events): Promise<void> {
  const change = (how: (before: ShownInvocation) => Partial<ShownInvocation>) => {
    conversation.invocations.value = conversation.invocations.value.map((invocation) =>
      invocation.key === key ? { ...invocation, ...how(invocation) } : invocation,
    )
  }
  let request_id: string | undefined
  try {
    for await (const event of events) {
      if (event.type === 'start') request_id = event.request_id
      change((before) => heard(before, event))
    }
  } catch (caught) {
    const error = caught as MoorageError
    request_id ??= conversation.invocations.value.find((invocation) => invocation.key === key)?.request_id
    change(() => ({ error, isRunning: false }))
  }
  // The receipt has the steps. What was said is shown without it if it cannot be read.
  const { agent, service } = conversation
  const run = request_id && (await service.invocations.get(agent, request_id).catch(() => undefined))
  change(() => ({ isRunning: false, ...(run && { run, attachments: run.attachments }) }))
  if (run && run.status === 'waiting') await waitForDecision(conversation, key, run)
}

/** A run that waits for a person ends its stream. When it goes on, so does the conversation. */
async function waitForDecision(conversation: Conversation, key: string, { request_id }: Invocation): Promise<void> {
  const { agent, invocations, life, service } = conversation
  let isWaiting = true
  while (isWaiting) {
    await new Promise((wake) => setTimeout(wake, DECISION_MS))
    if (life.aborted) return
    if (document.hidden) continue
    try {
      const run = await service.invocations.get(agent, request_id)
      isWaiting = run.status === 'waiting'
    } catch (error) {
      // A service that is away comes back. Without the permission to ask, it makes no sense to try again.
      if ([401, 403, 404].includes((error as MoorageError).status)) return
    }
  }
  invocations.value = invocations.value.map((before) => (before.key === key ? { ...before, isRunning: true } : before))
  await receive(conversation, key, service.invocations.follow(agent, request_id))
}

function heard(
  { response, draft = '', tools }: ShownInvocation,
  event: InvocationEvent<InvocationResult>,
): Partial<ShownInvocation> {
  switch (event.type) {
    // Both come before everything that the run has said so far.
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
    // The receipt says that it waits.
    case 'waiting':
      return {}
    case 'done':
      return { response: event.data.response }
  }
}
