import { PassThrough } from 'node:stream'
import type { StreamResponse } from '@a2a-js/sdk'
import { ApiError, type ErrorCode } from '../../../errors.ts'
import type { StreamEvent } from '../../../runtime/following/transcript.ts'
import { isLimited } from '../begun-runs.ts'
import type { MadeFile } from '../made-files.ts'
import type { OperationCalls } from '../operation-calls.ts'
import type { OpenQuestion } from './task-questions.ts'
import type { TaskStateName, TaskTeller } from './tasks.ts'

/** The answer of an invocation. */
export type InvokeReply = {
  response: string
  output?: unknown
  files?: readonly MadeFile[]
  request_id: string
  status?: 'queued' | 'waiting'
  approvals?: readonly OpenQuestion[]
  reason?: string
}

/** The state of a task whose run ended with this error. Other errors say nothing about the run. */
const STATE_AFTER: Partial<Record<ErrorCode, TaskStateName>> = {
  server_error: 'TASK_STATE_FAILED',
  output_invalid: 'TASK_STATE_FAILED',
  timeout: 'TASK_STATE_FAILED',
  budget_exceeded: 'TASK_STATE_FAILED',
  conflict: 'TASK_STATE_CANCELED',
}

/** Reports runs as tasks while they continue. */
export class TaskFollower {
  readonly #calls: OperationCalls

  constructor(calls: OperationCalls) {
    this.#calls = calls
  }

  /** Resolves once the task has ended or waits for a person. */
  async settle(request_id: string): Promise<void> {
    const gone = new AbortController()
    this.#calls.runner.onHangUp(() => gone.abort())
    await new Promise<void>((resolve) => {
      const ended = this.#calls.run('streamInvocation', this.#stream(request_id), {
        emit: ({ event }) => event === 'waiting' && resolve(),
        onHangUp: (listener) => gone.signal.addEventListener('abort', listener),
      })
      // A failed run becomes a failed task, as its receipt says.
      ended.then(
        () => resolve(),
        () => resolve(),
      )
    })
    gone.abort()
  }

  followTask(teller: TaskTeller): AsyncGenerator<StreamResponse, void, undefined> {
    const input = this.#stream(teller.taskId)
    // The task continues when its client disconnects, but following it must end, because the task may take days.
    const { onHangUp } = this.#calls.runner
    return this.follow(
      () => teller,
      (emit) => this.#calls.run<InvokeReply>('streamInvocation', input, { emit, onHangUp }),
    )
  }

  /** Follows a task that this request has started. The client gets the task's ID even if it can't be followed now. */
  async *followBegun(teller: TaskTeller): AsyncGenerator<StreamResponse, void, undefined> {
    let isTold = false
    try {
      for await (const event of this.followTask(teller)) {
        isTold = true
        yield event
      }
    } catch (error) {
      if (isTold || !isLimited(error)) throw error
      yield teller.submitted()
    }
  }

  /**
   * Follows a run. An error before the run starts is thrown. A repeated request follows the first request's run, so the
   * ID of the task comes from the run's start or its answer.
   */
  async *follow(
    tellerOf: (request_id: string) => TaskTeller,
    run: (emit: (event: StreamEvent) => void) => Promise<{ status: number; data: InvokeReply }>,
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const events = new PassThrough({ objectMode: true })
    const running = run((event) => events.write(event)).finally(() => events.end())
    // The error is thrown again below for a client that is still connected. Without this, it would be an unhandled
    // rejection.
    running.catch(() => {})
    let known: TaskTeller | undefined
    for await (const { event, data } of events as AsyncIterable<StreamEvent>) {
      known ??= tellerOf((data as Partial<InvokeReply>).request_id ?? this.#calls.received.request_id)
      const teller = known
      if (event === 'start') yield teller.begun()
      if (event === 'restart') teller.restart()
      if (event === 'waiting') {
        const { approvals = [], reason } = data as InvokeReply
        yield teller.nowWaiting(approvals, reason)
      }
      if (event === 'delta') yield teller.piece((data as { text: string }).text)
    }
    try {
      const { status, data } = await running
      const teller = known ?? tellerOf(data.request_id)
      // A repeated answer has no events.
      if (!known) yield teller.begun()
      if (!known && status !== 202) yield teller.piece(data.response)
      if (data.output !== undefined) yield teller.value(data.output)
      if (data.files) yield teller.files(data.files)
      if (status !== 202) yield teller.now('TASK_STATE_COMPLETED')
    } catch (error) {
      const state = stateAfter(error)
      if (!known || !state) throw error
      yield known.now(state, (error as ApiError).message)
    }
  }

  #stream(request_id: string) {
    const agent_id = this.#calls.runner.agent?.id ?? ''
    return { params: { agent_id, request_id }, mode: 'stream' } as const
  }
}

export function stateAfter(error: unknown): TaskStateName | undefined {
  return error instanceof ApiError ? STATE_AFTER[error.code] : undefined
}
