import { type Artifact, type Message, type Part, Role, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import { timeOf } from '../../../lib/id.ts'
import { formatTime } from '../../../lib/time.ts'
import { signInWords } from '../../../runtime/approvals/sign-in-words.ts'
import type { CallRunner } from '../dialect.ts'
import { contentAddress, type MadeFile } from '../made-files.ts'
import { type OpenQuestion, questionsIn } from './task-questions.ts'

/** The parts of a receipt that are read. */
export type TaskReceipt = {
  request_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  /** Present while the run waits. */
  asks_people?: boolean
  message: string
  context: { session_id?: string }
  response: string | null
  /** Present if the answer is JSON that fits a schema. */
  output?: unknown
  error: { message: string } | null
  steps: readonly { kind: string; call_id?: string; answer?: string; files?: readonly MadeFile[] }[]
  created_at: string
  started_at: string | null
  finished_at: string | null
}

export type TaskStateName = Exclude<keyof typeof TaskState, 'UNRECOGNIZED'>

export const STATE_OF: Record<TaskReceipt['status'], TaskStateName> = {
  queued: 'TASK_STATE_SUBMITTED',
  running: 'TASK_STATE_WORKING',
  waiting: 'TASK_STATE_INPUT_REQUIRED',
  completed: 'TASK_STATE_COMPLETED',
  failed: 'TASK_STATE_FAILED',
  cancelled: 'TASK_STATE_CANCELED',
}

const RESPONSE = 'response'
const FILES = 'files'

type Answer = Partial<Pick<TaskReceipt, 'response' | 'output'>> & { files?: readonly MadeFile[] }

/** An invocation as an A2A task. Its ID is the task's, and its session is the context. */
export class TaskTeller {
  readonly taskId: string
  readonly contextId: string
  readonly #at: Pick<CallRunner, 'url'>
  #isBegun = false

  constructor(taskId: string, contextId: string, at: Pick<CallRunner, 'url'>) {
    this.taskId = taskId
    this.contextId = contextId
    this.#at = at
  }

  static of(
    { request_id, context }: Pick<TaskReceipt, 'request_id' | 'context'>,
    at: Pick<CallRunner, 'url'>,
  ): TaskTeller {
    return new TaskTeller(request_id, context.session_id ?? request_id, at)
  }

  /** `asked` is what the task waits for, if known. */
  fromReceipt(receipt: TaskReceipt, historyLength?: number, asked: readonly OpenQuestion[] = []): Task {
    const { status, asks_people, message, response, output, error, steps, created_at, started_at, finished_at } =
      receipt
    const at = finished_at ?? started_at ?? created_at
    // A run that waits for anything other than people is shown as working, because the client has nothing to do.
    const state = status === 'waiting' && !asks_people ? STATE_OF.running : STATE_OF[status]
    return {
      ...(state === STATE_OF.waiting
        ? this.waiting(asked)
        : this.task(state, {
            response,
            output,
            files: steps.flatMap(({ files = [] }) => files),
            words: error?.message,
            at,
          })),
      history: latest(this.#heard(message, steps), historyLength),
    }
  }

  task(state: TaskStateName, more: Answer & { words?: string | undefined; at?: string | undefined } = {}): Task {
    const { response, output, files = [], words, at } = more
    return {
      id: this.taskId,
      contextId: this.contextId,
      status: this.#status(state, words, at),
      artifacts: [
        ...(response ? [artifactOf(partsOf(response, output))] : []),
        ...(files.length > 0 ? [this.#artifactOf(files)] : []),
      ],
      history: [],
      metadata: undefined,
    }
  }

  /**
   * The task while it waits. The timestamp is always the time at which the wait began. If the service causes the wait,
   * `reason` says why, and the client is asked nothing.
   */
  waiting(asked: readonly OpenQuestion[], reason?: string): Task {
    if (reason !== undefined) return this.task('TASK_STATE_WORKING', { words: reason })
    const state = signInWords(asked) === undefined ? STATE_OF.waiting : 'TASK_STATE_AUTH_REQUIRED'
    return this.task(state, { words: questionsIn(asked), at: asked[0]?.created_at })
  }

  submitted(): StreamResponse {
    return { payload: { $case: 'task', value: this.task(STATE_OF.queued) } }
  }

  begun(): StreamResponse {
    const at = formatTime(timeOf(this.taskId))
    return { payload: { $case: 'task', value: this.task('TASK_STATE_WORKING', { at }) } }
  }

  /** The next piece of the answer. The first piece replaces any text of an earlier attempt. */
  piece(text: string): StreamResponse {
    return this.#extend([partOf(text)], false)
  }

  /** The value of an answer whose text was already sent. */
  value(output: unknown): StreamResponse {
    return this.#extend([dataPart(output)], true)
  }

  /** The files that the run's tools have made. */
  files(made: readonly MadeFile[]): StreamResponse {
    const { taskId, contextId } = this
    const artifact = this.#artifactOf(made)
    const value = { taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined }
    return { payload: { $case: 'artifactUpdate', value } }
  }

  /** An artifact with links. The client downloads the files with its own key. */
  #artifactOf(made: readonly MadeFile[]): Artifact {
    const parts = made.map(({ file_id, name: filename, media_type: mediaType }): Part => {
      const content = { $case: 'url' as const, value: contentAddress(file_id, this.#at) }
      return { content, metadata: undefined, filename, mediaType }
    })
    return artifactOf(parts, FILES)
  }

  #extend(parts: Part[], lastChunk: boolean): StreamResponse {
    const append = this.#isBegun
    this.#isBegun = true
    const { taskId, contextId } = this
    const value = { taskId, contextId, artifact: artifactOf(parts), append, lastChunk, metadata: undefined }
    return { payload: { $case: 'artifactUpdate', value } }
  }

  restart(): void {
    this.#isBegun = false
  }

  now(state: TaskStateName, words?: string): StreamResponse {
    return this.#update(this.#status(state, words))
  }

  nowWaiting(asked: readonly OpenQuestion[], reason?: string): StreamResponse {
    return this.#update(this.waiting(asked, reason).status)
  }

  #update(status: Task['status']): StreamResponse {
    const { taskId, contextId } = this
    return { payload: { $case: 'statusUpdate', value: { taskId, contextId, status, metadata: undefined } } }
  }

  #status(state: TaskStateName, words?: string, at = new Date().toISOString()) {
    const message = words === undefined ? undefined : this.#said('ROLE_AGENT', words)
    return { state: TaskState[state], message, timestamp: at }
  }

  /** The messages to the task: the message that started it, and the answers to its questions. */
  #heard(message: string, steps: TaskReceipt['steps']): Message[] {
    const answers = steps.flatMap(({ call_id, answer }) =>
      answer === undefined ? [] : [this.#said('ROLE_USER', answer, call_id)],
    )
    return [this.#said('ROLE_USER', message), ...answers]
  }

  #said(role: 'ROLE_USER' | 'ROLE_AGENT', text: string, id = role === 'ROLE_USER' ? 'message' : 'answer'): Message {
    return {
      messageId: `${this.taskId}-${id}`,
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

/** The latest messages, as many as the client requests. */
function latest(messages: Message[], historyLength: number | undefined): Message[] {
  return historyLength === undefined ? messages : messages.slice(Math.max(0, messages.length - historyLength))
}

function artifactOf(parts: Part[], name = RESPONSE): Artifact {
  return {
    artifactId: name,
    name,
    description: '',
    parts,
    metadata: undefined,
    extensions: [],
  }
}

/** An answer that is JSON is sent as text and as a value. */
function partsOf(response: string, output: unknown): Part[] {
  return output === undefined ? [partOf(response)] : [partOf(response), dataPart(output)]
}

function dataPart(value: unknown): Part {
  return { content: { $case: 'data', value }, metadata: undefined, filename: '', mediaType: 'application/json' }
}

function partOf(text: string): Part {
  return { content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}
