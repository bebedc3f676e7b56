import {
  type AgentCard,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk'
import {
  ContentTypeNotSupportedError,
  ExtendedAgentCardNotConfiguredError,
  TaskNotCancelableError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { ApiError, type ErrorCode, invalid } from '../../../errors.ts'
import type { StreamEvent } from '../../../runtime/following/transcript.ts'
import type { OperationCalls } from '../operation-calls.ts'
import { agentCard } from './agent-card.ts'
import { EventQueue } from './event-queue.ts'
import { callbackBody, PushConfigs } from './push-configs.ts'
import { readPage } from './task-pages.ts'
import { STATE_OF, type TaskReceipt, type TaskStateName, TaskTeller } from './tasks.ts'

type Result = { response: string; request_id: string; status?: 'queued' | 'waiting' }

/** What became of a task whose run ended with such an error. Any other error says nothing about the run. */
const STATE_AFTER: Partial<Record<ErrorCode, TaskStateName>> = {
  server_error: 'TASK_STATE_FAILED',
  timeout: 'TASK_STATE_FAILED',
  conflict: 'TASK_STATE_CANCELED',
}

/**
 * One agent of ours, as the official SDK wants an agent to be. A task goes on when its client hangs up: clients take it
 * up again.
 */
export class A2aAgent implements A2ARequestHandler {
  readonly #calls: OperationCalls
  readonly #pushes: PushConfigs

  constructor(calls: OperationCalls) {
    this.#calls = calls
    this.#pushes = new PushConfigs(calls)
  }

  async getAgentCard(): Promise<AgentCard> {
    return agentCard(this.#calls.runner)
  }

  async sendMessage(params: SendMessageRequest): Promise<Task> {
    const { body, teller } = this.#read(params)
    const { returnImmediately = false } = params.configuration ?? {}
    const mode = returnImmediately || body.callback ? 'background' : 'reply'
    const input = { params: this.#agent, body, sent: params, mode } as const
    try {
      const { status, data } = await this.#calls.run<Result>('invokeAgent', input)
      if (mode === 'background' && !returnImmediately) return await this.#settled(data.request_id)
      // A repeated message gets the task of the first one.
      const answered = new TaskTeller(data.request_id, params.message?.contextId || data.request_id)
      if (status === 202) return answered.task(STATE_OF[data.status ?? 'queued'])
      return answered.task('TASK_STATE_COMPLETED', { response: data.response })
    } catch (error) {
      const state = stateAfter(error)
      if (!state) throw error
      return teller.task(state, { words: (error as ApiError).message })
    }
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const { body, teller } = this.#read(params)
    const input = { params: this.#agent, body, sent: params }
    if (!body.callback) {
      const streamed = { ...input, mode: 'stream' } as const
      return yield* this.#follow(teller, (emit) => this.#calls.run<Result>('invokeAgent', streamed, { emit }))
    }
    // A client that wants to be notified may leave, so the task runs in the background.
    const { data } = await this.#calls.run<Result>('invokeAgent', { ...input, mode: 'background' })
    yield* this.#followTask(new TaskTeller(data.request_id, teller.contextId))
  }

  async getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    const receipt = await this.#receipt(id)
    return TaskTeller.of(receipt).fromReceipt(receipt, historyLength)
  }

  async listTasks(params: ListTasksRequest): Promise<ListTasksResponse> {
    const { contextId, status: state, statusTimestampAfter, historyLength } = params
    if (statusTimestampAfter !== undefined) throw this.#unsupported('Tasks are not listed by the time of their status')
    const { limit, offset } = readPage(params)
    const query = { limit, offset, ...(contextId && { session_id: contextId }), ...this.#statusOf(state) }
    const { data, pagination } = await this.#calls.run<TaskReceipt[]>('listInvocations', { params: this.#agent, query })
    return {
      tasks: data.map((receipt) => TaskTeller.of(receipt).fromReceipt(receipt, historyLength)),
      nextPageToken: pagination.has_more ? String(offset + data.length) : '',
      pageSize: limit,
      totalSize: pagination.total,
    }
  }

  async cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    const params = { ...this.#agent, request_id: id }
    try {
      const { data } = await this.#calls.run<TaskReceipt>('cancelInvocation', { params, body: {} })
      return TaskTeller.of(data).fromReceipt(data)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'conflict') {
        throw new TaskNotCancelableError(error.message)
      }
      throw error
    }
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    // A run that has just begun has no receipt yet, but it can be followed.
    const receipt = await this.#receipt(id).catch(() => undefined)
    if (receipt && receipt.finished_at !== null) throw this.#unsupported('This task has ended: get it')
    yield* this.#followTask(TaskTeller.of(receipt ?? { request_id: id, context: {} }))
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    throw new ExtendedAgentCardNotConfiguredError('The card says everything')
  }

  createTaskPushNotificationConfig(config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    return this.#pushes.create(config)
  }

  getTaskPushNotificationConfig(asked: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    return this.#pushes.get(asked)
  }

  listTaskPushNotificationConfigs(
    asked: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return this.#pushes.list(asked)
  }

  deleteTaskPushNotificationConfig(asked: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    return this.#pushes.remove(asked)
  }

  /** The task once it has ended or waits for a person. */
  async #settled(request_id: string): Promise<Task> {
    const gone = new AbortController()
    this.#calls.runner.onHangUp(() => gone.abort())
    const input = { params: { ...this.#agent, request_id }, mode: 'stream' } as const
    await new Promise<void>((resolve) => {
      const ended = this.#calls.run('streamInvocation', input, {
        emit: ({ event }) => event === 'waiting' && resolve(),
        onHangUp: (listener) => gone.signal.addEventListener('abort', listener),
      })
      // A run that failed is a task that failed. Its receipt says so.
      ended.then(
        () => resolve(),
        () => resolve(),
      )
    })
    gone.abort()
    return this.getTask({ tenant: '', id: request_id })
  }

  #followTask(teller: TaskTeller): AsyncGenerator<StreamResponse, void, undefined> {
    const input = { params: { ...this.#agent, request_id: teller.taskId }, mode: 'stream' } as const
    return this.#follow(teller, (emit) => this.#calls.run<Result>('streamInvocation', input, { emit }))
  }

  /** Tells a run as a task while it goes on. An error before it begins is thrown. */
  async *#follow(
    teller: TaskTeller,
    run: (emit: (event: StreamEvent) => void) => Promise<{ status: number; data: Result }>,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const events = new EventQueue<StreamEvent>()
    const running = run((event) => events.add(event)).finally(() => events.end())
    // The error is thrown again below, for a client that is still there. Without this it would count as unhandled.
    running.catch(() => {})
    let isTold = false
    for await (const { event, data } of events) {
      if (event === 'start') yield teller.begun()
      if (event === 'restart') teller.restart()
      if (event === 'waiting') yield teller.now(STATE_OF.waiting)
      if (event === 'delta') yield teller.piece((data as { text: string }).text)
      isTold = true
    }
    try {
      const { status, data } = await running
      // A repeated answer comes without events.
      if (!isTold) yield teller.begun()
      if (!isTold && status !== 202) yield teller.piece(data.response)
      if (status !== 202) yield teller.now('TASK_STATE_COMPLETED')
    } catch (error) {
      const state = isTold ? stateAfter(error) : undefined
      if (!state) throw error
      yield teller.now(state, (error as ApiError).message)
    }
  }

  #read({ message, configuration }: SendMessageRequest) {
    if (!message) throw invalid({ field: 'message', error: 'is required' })
    if (message.taskId !== '')
      throw this.#unsupported(
        'A task takes one message: send the next one with its contextId, and decisions to the API',
      )
    const texts = message.parts.map(({ content }) => {
      if (content?.$case === 'text') return content.value
      throw new ContentTypeNotSupportedError('Agents read text: every part must have text')
    })
    const { request_id } = this.#calls.received
    const contextId = message.contextId || request_id
    const push = configuration?.taskPushNotificationConfig
    const body = {
      message: texts.join('\n'),
      context: { session_id: contextId },
      ...(push && { callback: callbackBody(push) }),
    }
    return { body, teller: new TaskTeller(request_id, contextId) }
  }

  get #agent(): { agent_id: string } {
    return { agent_id: this.#calls.runner.agent?.id ?? '' }
  }

  async #receipt(request_id: string): Promise<TaskReceipt> {
    const params = { ...this.#agent, request_id }
    return (await this.#calls.run<TaskReceipt>('getInvocation', { params })).data
  }

  #statusOf(state: ListTasksRequest['status']): { status?: string } {
    const name = TaskState[state]
    if (state === TaskState.TASK_STATE_UNSPECIFIED) return {}
    const [status] = Object.entries(STATE_OF).find(([, candidate]) => candidate === name) ?? []
    if (status === undefined) throw this.#unsupported(`No task has the state ${name}`)
    return { status }
  }

  #unsupported(message: string): Error {
    return new UnsupportedOperationError(message)
  }
}

function stateAfter(error: unknown): TaskStateName | undefined {
  return error instanceof ApiError ? STATE_AFTER[error.code] : undefined
}
