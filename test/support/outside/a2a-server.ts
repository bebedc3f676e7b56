import type { IncomingHttpHeaders } from 'node:http'
import { AgentCard, type Message, type Part, Role, type Task, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  type RequestContext,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import { type LocalServer, readBody, startLocalServer } from './local-server.ts'

type StateName = Exclude<keyof typeof TaskState, 'UNRECOGNIZED'>

/** A message that the agent received, and the means to answer it. */
export type PlayedTask = {
  message: Message
  text: string
  taskId: string
  contextId: string
  /** How many messages the task has received. */
  turn: number
  work(words: string): void
  say(text: string, more?: { artifact?: string; append?: boolean }): void
  give(part: Part['content'], named?: { filename?: string; mediaType?: string }): void
  end(state: StateName, words?: string): void
  /** Resolves when the task is cancelled. */
  cancelled: Promise<void>
}

export type A2aServer = LocalServer & {
  /** The card's URL. */
  card: string
  /** The requests, in order. A request for the card is `card`. */
  seen: { method: string; headers: IncomingHttpHeaders; message: Message | undefined }[]
  methods(): string[]
  /** Sets the handler for further messages, and empties `seen`. */
  answer(handler: (task: PlayedTask) => void | Promise<void>): void
}

type Settings = {
  streaming?: boolean
  /** Replies to a message with this text, without a task. */
  only?: string
  /** What the card contains differently. */
  card?: (url: string) => object
}

/** An agent made with the official SDK, over JSON-RPC. */
export async function startA2aServer({ streaming = true, only, card }: Settings = {}): Promise<A2aServer> {
  let handler: (task: PlayedTask) => void | Promise<void> = (task) => task.end('TASK_STATE_COMPLETED')
  let seen: A2aServer['seen'] = []
  const turns = new Map<string, number>()
  const cancellations = new Map<string, PromiseWithResolvers<void>>()
  const executor: AgentExecutor = {
    async execute(context, bus) {
      if (only !== undefined) {
        bus.publish(AgentEvent.message(messageOf(context, only)))
      } else {
        const { taskId } = context
        turns.set(taskId, (turns.get(taskId) ?? 0) + 1)
        const cancelling = Promise.withResolvers<void>()
        cancellations.set(taskId, cancelling)
        bus.publish(AgentEvent.task(context.task ?? newTask(context)))
        await handler(played(context, bus, turns.get(taskId) ?? 1, cancelling.promise))
      }
      bus.finished()
    },
    async cancelTask(taskId, bus) {
      const status = { state: TaskState.TASK_STATE_CANCELED, message: undefined, timestamp: undefined }
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status, metadata: undefined }))
      bus.finished()
      cancellations.get(taskId)?.resolve()
    },
  }
  const server = await startLocalServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    if (method === 'GET' && url === '/card') {
      seen.push({ method: 'card', headers, message: undefined })
      const shown = { ...(AgentCard.toJSON(cardOf(server.url, streaming)) as object), ...card?.(server.url) }
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify(shown))
    }
    const body = JSON.parse(await readBody(request)) as { method: string; params?: { message?: Message } }
    seen.push({ method: body.method, headers, message: body.params?.message })
    const context = new ServerCallContext({ requestedVersion: '1.0' })
    const reply = await rpc.handle(body as never, context)
    if (!(Symbol.asyncIterator in reply)) {
      return void response.setHeader('content-type', 'application/json').end(JSON.stringify(reply))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for await (const event of reply) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end()
  })
  const requests = new DefaultRequestHandler(cardOf(server.url, streaming), new InMemoryTaskStore(), executor)
  const rpc = new JsonRpcTransportHandler(requests)
  return {
    ...server,
    card: `${server.url}/card`,
    get seen() {
      return seen
    },
    methods: () => seen.map(({ method }) => method),
    answer(next) {
      handler = next
      seen = []
    },
  }
}

function partOf(content: Part['content'], { filename = '', mediaType = '' } = {}): Part {
  return { content, metadata: undefined, filename, mediaType }
}

function played(
  { userMessage: message, taskId, contextId }: RequestContext,
  bus: ExecutionEventBus,
  turn: number,
  cancelled: Promise<void>,
): PlayedTask {
  const texts = message.parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
  const of = { taskId, contextId, metadata: undefined }
  const tell = (state: StateName, words?: string) => {
    const said = words === undefined ? undefined : messageOf({ taskId, contextId }, words)
    const timestamp = new Date().toISOString()
    bus.publish(AgentEvent.statusUpdate({ ...of, status: { state: TaskState[state], message: said, timestamp } }))
  }
  const extend = (artifactId: string, parts: Part[], append: boolean) => {
    const artifact = { artifactId, name: '', description: '', parts, metadata: undefined, extensions: [] }
    bus.publish(AgentEvent.artifactUpdate({ ...of, artifact, append, lastChunk: false }))
  }
  return {
    message,
    text: texts.join('\n'),
    taskId,
    contextId,
    turn,
    cancelled,
    work: (words) => tell('TASK_STATE_WORKING', words),
    say: (text, { artifact = 'answer', append = true } = {}) =>
      extend(artifact, [partOf({ $case: 'text', value: text })], append),
    give: (content, named) => extend('given', [partOf(content, named)], true),
    end: tell,
  }
}

function newTask({ taskId: id, contextId, userMessage }: RequestContext): Task {
  const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: undefined }
  return { id, contextId, status, artifacts: [], history: [userMessage], metadata: undefined }
}

function messageOf({ taskId, contextId }: { taskId: string; contextId: string }, text: string): Message {
  const parts = [partOf({ $case: 'text', value: text })]
  const more = { metadata: undefined, extensions: [], referenceTaskIds: [] }
  return { messageId: crypto.randomUUID(), taskId, contextId, role: Role.ROLE_AGENT, parts, ...more }
}

function cardOf(url: string, streaming: boolean): AgentCard {
  return {
    name: 'far',
    description: 'An agent elsewhere',
    version: '1',
    provider: undefined,
    supportedInterfaces: [{ url: `${url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
    capabilities: { streaming, pushNotifications: false, extendedAgentCard: false, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
  }
}
