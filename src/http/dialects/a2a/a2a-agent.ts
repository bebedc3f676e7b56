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
  RequestMalformedError,
  TaskNotCancelableError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { ApiError, RunFailure } from '../../../errors.ts'
import { unlessLimited } from '../begun-runs.ts'
import { ONLY_FILES } from '../made-files.ts'
import type { OperationCalls } from '../operation-calls.ts'
import { agentCard } from './agent-card.ts'
import { callbackBody, PushConfigs } from './push-configs.ts'
import { type InvokeReply, stateAfter, TaskFollower } from './task-follower.ts'
import { readPage } from './task-pages.ts'
import { TaskQuestions } from './task-questions.ts'
import { STATE_OF, type TaskReceipt, TaskTeller } from './tasks.ts'

/**
 * One of our agents, in the form that the official SDK needs. A task continues when its client disconnects, because
 * clients can resume it.
 */
export class A2aAgent implements A2ARequestHandler {
  readonly #calls: OperationCalls
  readonly #pushes: PushConfigs
  readonly #questions: TaskQuestions
  readonly #follower: TaskFollower

  constructor(calls: OperationCalls) {
    this.#calls = calls
    this.#pushes = new PushConfigs(calls)
    this.#questions = new TaskQuestions(calls)
    this.#follower = new TaskFollower(calls)
  }

  async getAgentCard(): Promise<AgentCard> {
    return agentCard(this.#calls.runner)
  }

  async sendMessage(params: SendMessageRequest): Promise<Task> {
    const { returnImmediately = false, historyLength } = params.configuration ?? {}
    if (isAnswer(params)) {
      const answered = await this.#answer(params)
      if (!returnImmediately) await this.#follower.settle(answered.taskId)
      return this.#taskOf(answered, historyLength)
    }
    const { body, tellerOf } = this.#read(params)
    const mode = returnImmediately || body.callback ? 'background' : 'reply'
    const input = { params: this.#agent, body, sent: params, mode } as const
    try {
      const { status, data } = await this.#calls.run<InvokeReply>('invokeAgent', input)
      const answered = tellerOf(data.request_id)
      if (mode === 'background' && !returnImmediately) {
        await this.#follower.settle(data.request_id)
        return await this.#taskOf(answered, historyLength)
      }
      if (data.status === 'waiting') return answered.waiting(data.approvals ?? [], data.reason)
      if (status === 202) return answered.task(STATE_OF.queued)
      return answered.task('TASK_STATE_COMPLETED', data)
    } catch (error) {
      // Only a run that was admitted is a task.
      const state = error instanceof RunFailure ? stateAfter(error) : undefined
      if (!state) throw error
      const { run_id, message } = error as RunFailure
      return tellerOf(run_id).task(state, { words: message })
    }
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
    if (isAnswer(params)) return yield* this.#follower.followBegun(await this.#answer(params))
    const { body, tellerOf } = this.#read(params)
    const input = { params: this.#agent, body, sent: params }
    if (!body.callback) {
      const streamed = { ...input, mode: 'stream' } as const
      return yield* this.#follower.follow(tellerOf, (emit) =>
        this.#calls.run<InvokeReply>('invokeAgent', streamed, { emit }),
      )
    }
    // A client that wants to be notified may disconnect, so the task runs in the background.
    const { data } = await this.#calls.run<InvokeReply>('invokeAgent', { ...input, mode: 'background' })
    yield* this.#follower.followBegun(tellerOf(data.request_id))
  }

  async getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    const receipt = await this.#receipt(id)
    const asked = receipt.status === 'waiting' ? await this.#questions.list(id) : []
    return TaskTeller.of(receipt, this.#calls.runner).fromReceipt(receipt, historyLength, asked)
  }

  /** The task that this request has started or answered. A task that was just answered is queued again. */
  #taskOf(teller: TaskTeller, historyLength: number | undefined): Promise<Task> {
    const asked = this.getTask({ tenant: '', id: teller.taskId, historyLength })
    return unlessLimited(asked, () => teller.task(STATE_OF.queued))
  }

  async listTasks(params: ListTasksRequest): Promise<ListTasksResponse> {
    const { contextId, status: state, statusTimestampAfter, historyLength, includeArtifacts = false } = params
    if (statusTimestampAfter !== undefined)
      throw this.#unsupported("Tasks can't be listed by the time of their status.")
    const { limit, offset } = readPage(params)
    const query = { limit, offset, ...(contextId && { session_id: contextId }), ...this.#statusOf(state) }
    const { data, pagination } = await this.#calls.run<TaskReceipt[]>('listInvocations', { params: this.#agent, query })
    const signIns = await this.#questions.signIns(data)
    const tasks = data.map((receipt) =>
      TaskTeller.of(receipt, this.#calls.runner).fromReceipt(receipt, historyLength, signIns.get(receipt.request_id)),
    )
    return {
      tasks: includeArtifacts ? tasks : tasks.map((task) => ({ ...task, artifacts: [] })),
      nextPageToken: pagination.has_more ? String(offset + data.length) : '',
      pageSize: limit,
      totalSize: pagination.total,
    }
  }

  async cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    const params = { ...this.#agent, request_id: id }
    try {
      const { data } = await this.#calls.run<TaskReceipt>('cancelInvocation', { params, body: {} })
      return TaskTeller.of(data, this.#calls.runner).fromReceipt(data)
    } catch (error) {
      if (error instanceof ApiError && error.code === 'conflict') {
        throw new TaskNotCancelableError(error.message)
      }
      throw error
    }
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const receipt = await this.#receipt(id)
    if (receipt.finished_at !== null) throw this.#unsupported('This task has ended. Get it instead.')
    yield* this.#follower.followTask(TaskTeller.of(receipt, this.#calls.runner))
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    throw new ExtendedAgentCardNotConfiguredError('There is no extended card; the agent card is complete.')
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

  /** A message to a waiting task is the answer to its question. Every other task accepts one message. */
  async #answer({ message, configuration }: SendMessageRequest): Promise<TaskTeller> {
    const { taskId = '', contextId = '' } = message ?? {}
    const receipt = await this.#receipt(taskId)
    const teller = TaskTeller.of(receipt, this.#calls.runner)
    if (contextId !== '' && contextId !== teller.contextId) {
      throw new RequestMalformedError("message.contextId is not this task's context.")
    }
    if (receipt.status !== 'waiting') {
      if (await this.#questions.isAnsweredBy(taskId, textIn(message))) return teller
      throw this.#unsupported("This task isn't waiting for an answer. Send the next message with its contextId only.")
    }
    if (message && filesIn(message).length > 0) throw new ContentTypeNotSupportedError('Answer the question with text.')
    const push = configuration?.taskPushNotificationConfig
    const question = await this.#questions.first(taskId)
    // Created before the answer is stored, so a wrong URL is refused while the task still waits.
    const made = push && (await this.#pushes.create({ ...push, taskId }, 'push'))
    try {
      await this.#questions.answer(taskId, question, textIn(message))
    } catch (error) {
      if (made) await this.#pushes.remove(made)
      throw error
    }
    return teller
  }

  #read({ message, configuration }: SendMessageRequest) {
    if (!message) throw new RequestMalformedError('message is required.')
    const { request_id } = this.#calls.received
    const contextId = message.contextId || request_id
    const push = configuration?.taskPushNotificationConfig
    const attachments = filesIn(message)
    const body = {
      message: textIn(message) || (attachments.length > 0 ? ONLY_FILES : ''),
      context: { session_id: contextId },
      ...(attachments.length > 0 && { attachments }),
      ...(push && { callback: callbackBody(push) }),
    }
    // A repeated message gets the first message's task, and so the context that the first message started.
    const tellerOf = (task: string) => new TaskTeller(task, message.contextId || task, this.#calls.runner)
    return { body, tellerOf }
  }

  get #agent(): { agent_id: string } {
    return { agent_id: this.#calls.runner.agent?.id ?? '' }
  }

  async #receipt(request_id: string): Promise<TaskReceipt> {
    const params = { ...this.#agent, request_id }
    return (await this.#calls.run<TaskReceipt>('getInvocation', { params })).data
  }

  #statusOf(state: ListTasksRequest['status']): { status?: string; activity?: string } {
    const name = TaskState[state]
    if (state === TaskState.TASK_STATE_UNSPECIFIED) return {}
    if (name === STATE_OF.running) return { activity: 'working' }
    if (name === STATE_OF.waiting) return { activity: 'asking' }
    if (name === 'TASK_STATE_AUTH_REQUIRED')
      throw this.#unsupported(`Tasks can't be listed by ${name}. ${STATE_OF.waiting} lists them too.`)
    const [status] = Object.entries(STATE_OF).find(([, candidate]) => candidate === name) ?? []
    if (status === undefined) throw this.#unsupported(`${name} is not a task state.`)
    return { status }
  }

  #unsupported(message: string): Error {
    return new UnsupportedOperationError(message)
  }
}

/** Whether the message belongs to an existing task. */
function isAnswer({ message }: SendMessageRequest): boolean {
  return message !== undefined && message.taskId !== ''
}

function textIn(message: SendMessageRequest['message']): string {
  const texts = (message?.parts ?? []).flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
  return texts.join('\n')
}

type SentFile = { url: string } | { data: string; media_type?: string; name?: string }

/** A message's files, in the form of our own API. */
function filesIn({ parts }: NonNullable<SendMessageRequest['message']>): SentFile[] {
  return parts.flatMap(({ content, filename, mediaType }): SentFile[] => {
    if (content?.$case === 'text') return []
    if (content?.$case === 'url') return [{ url: content.value }]
    if (content?.$case !== 'raw')
      throw new ContentTypeNotSupportedError('Agents accept text and files, but no data parts.')
    const told = { ...(mediaType && { media_type: mediaType }), ...(filename && { name: filename }) }
    return [{ data: content.value.toString('base64'), ...told }]
  })
}
