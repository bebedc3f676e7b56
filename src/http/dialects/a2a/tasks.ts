import { type Artifact, type Message, type Part, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'

/** What is read of a receipt. */
export type TaskReceipt = {
  request_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  message: string
  context: { session_id?: string }
  response: string | null
  error: { message: string } | null
  steps: readonly { kind: string }[]
  created_at: string
  started_at: string | null
  finished_at: string | null
}

export type TaskStateName = Exclude<keyof typeof TaskState, 'UNRECOGNIZED'>

/** The client has to see to it that somebody decides. */
const WAITS = 'Waits until a person has decided'

export const STATE_OF: Record<TaskReceipt['status'], TaskStateName> = {
  queued: 'TASK_STATE_SUBMITTED',
  running: 'TASK_STATE_WORKING',
  waiting: 'TASK_STATE_INPUT_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
}

const RESPONSE = 'response'

/** An invocation as A2A tells it. Its id is the task, and its session is the context. */
export class TaskTeller {
  readonly taskId: string
  readonly contextId: string
  #isBegun = false

  constructor(taskId: string, contextId: string) {
    this.taskId = taskId
    this.contextId = contextId
  }

  static of({ request_id, context }: Pick<TaskReceipt, 'request_id' | 'context'>): TaskTeller {
    return new TaskTeller(request_id, context.session_id ?? request_id)
  }

  fromReceipt(receipt: TaskReceipt, historyLength?: number): Task {
    const { status, message, response, error, steps, created_at, started_at, finished_at } = receipt
    const at = finished_at ?? started_at ?? created_at
    // A run may wait for its provider, too. Then nobody has to do anything.
    const state = steps.at(-1)?.kind === 'wait' && status === 'waiting' ? 'TASK_STATE_WORKING' : STATE_OF[status]
    return {
      ...this.task(state, { response, words: error?.message, at }),
      history: historyLength === 0 ? [] : [this.#said('ROLE_USER', message)],
    }
  }

  task(state: TaskStateName, more: { response?: string | null; words?: string | undefined; at?: string } = {}): Task {
    const { response, words, at } = more
    return {
      id: this.taskId,
      contextId: this.contextId,
      status: this.#status(state, words, at),
      artifacts: response ? [artifactOf(response)] : [],
      history: [],
      metadata: undefined,
    }
  }

  begun(): StreamResponse {
    return { payload: { $case: 'task', value: this.task('TASK_STATE_WORKING') } }
  }

  /** The next piece of the answer. The first one replaces what was told of an earlier attempt. */
  piece(text: string): StreamResponse {
    const append = this.#isBegun
    this.#isBegun = true
    const { taskId, contextId } = this
    const value = { taskId, contextId, artifact: artifactOf(text), append, lastChunk: false, metadata: undefined }
    return { payload: { $case: 'artifactUpdate', value } }
  }

  restart(): void {
    this.#isBegun = false
  }

  now(state: TaskStateName, words?: string): StreamResponse {
    const { taskId, contextId } = this
    const value = { taskId, contextId, status: this.#status(state, words), metadata: undefined }
    return { payload: { $case: 'statusUpdate', value } }
  }

  #status(state: TaskStateName, said?: string, at?: string) {
    const words = state === 'TASK_STATE_INPUT_REQUIRED' ? WAITS : said
    const message = words === undefined ? undefined : this.#said('ROLE_AGENT', words)
    return { state: TaskState[state], message, timestamp: at }
  }

  #said(role: 'ROLE_USER' | 'ROLE_AGENT', text: string): Message {
    return {
      messageId: `${this.taskId}-${role === 'ROLE_USER' ? 'message' : 'answer'}`,
      contextId: this.contextId,
      taskId: this.taskId,
      role: Role[role],
      parts: [partOf(text)],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    }
  }
}

function artifactOf(text: string): Artifact {
  return {
    artifactId: RESPONSE,
    name: RESPONSE,
    description: '',
    parts: [partOf(text)],
    metadata: undefined,
    extensions: [],
  }
}

function partOf(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}
