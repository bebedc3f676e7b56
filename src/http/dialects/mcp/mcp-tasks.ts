import {
  type CallToolResult,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  ProtocolError,
  type Task,
} from '@modelcontextprotocol/server'
import { ApiError, notFound } from '../../../errors.ts'
import { type AskedSignIn, signInWords } from '../../../runtime/approvals/sign-in-words.ts'
import { unlessLimited } from '../begun-runs.ts'
import type { OperationCalls } from '../operation-calls.ts'
import { failedResult } from './mcp-errors.ts'
import { answerOf, invocationOf, offsetOf } from './mcp-tools.ts'

type TaskReceipt = {
  request_id: string
  agent_id: string
  status: 'queued' | 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled'
  /** Present while the run waits. */
  asks_people?: boolean
  error: { message: string } | null
  created_at: string
  started_at: string | null
  finished_at: string | null
}

const PAGE = 50
const POLL_MS = 1_000
const RELATED = 'io.modelcontextprotocol/related-task'

const STATUS_OF = {
  queued: 'working',
  running: 'working',
  waiting: 'input_required',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
} as const

/**
 * Runs that outlive their request, as tasks of revision 2025-11-25. A task is a background run. The SDK only knows the
 * form of its messages and leaves the rest to us.
 */
export class McpTasks {
  readonly #calls: OperationCalls

  constructor(calls: OperationCalls) {
    this.#calls = calls
  }

  /** Whether tasks are listed. A key that can only invoke must not see the tasks of all agents. */
  get areListed(): boolean {
    return this.#calls.runner.agent !== undefined
  }

  /** Starts the run of an agent. The SDK requires content in every answer to a tool call. */
  async create(name: string, args: unknown): Promise<CallToolResult & { task: Task }> {
    const wanted = invocationOf(this.#calls, name, args)
    if (!wanted) throw new ProtocolError(METHOD_NOT_FOUND, `The tool ${name} can't be called as a task.`)
    const { data } = await this.#calls.run<{ request_id: string }>('invokeAgent', { ...wanted, mode: 'background' })
    const ids = { agent_id: this.#calls.runner.agent?.id ?? wanted.params.agent_id, request_id: data.request_id }
    const receipt = await unlessLimited(this.#receipt(ids), () => justQueued(ids))
    return { content: [], task: taskOf(receipt) }
  }

  async get(taskId: string): Promise<Task> {
    const ids = this.#idsOf(taskId)
    const receipt = await this.#receipt(ids)
    if (!receipt.asks_people) return taskOf(receipt)
    const query = { ...ids, status: 'pending', limit: 100 }
    const { data } = await this.#calls.run<AskedSignIn[]>('listApprovals', { query })
    return taskOf(receipt, signInWords(data))
  }

  /** Returns the tool's result when the run has ended. */
  async result(taskId: string, signal: AbortSignal): Promise<CallToolResult> {
    const params = this.#idsOf(taskId)
    const related = { [RELATED]: { taskId } }
    try {
      const { data } = await this.#calls.run<Record<string, unknown>>(
        'streamInvocation',
        { params, mode: 'stream' },
        { emit() {}, onHangUp: (listener) => signal.addEventListener('abort', listener) },
      )
      return { ...(await answerOf(data, this.#calls)), _meta: related }
    } catch (error) {
      if (!(error instanceof ApiError) || error.code === 'not_found') throw error
      const failed = failedResult(error, this.#calls.received.request_id)
      return { ...failed, _meta: { ...failed['_meta'], ...related } }
    }
  }

  /** The tasks of the agent in the path. */
  async list(cursor = '0'): Promise<{ tasks: Task[]; nextCursor?: string }> {
    const offset = offsetOf(cursor)
    const params = { agent_id: this.#calls.runner.agent?.id ?? '' }
    const query = { limit: PAGE, offset }
    const { data, pagination } = await this.#calls.run<TaskReceipt[]>('listInvocations', { params, query })
    return {
      tasks: data.map((receipt) => taskOf(receipt)),
      ...(pagination.has_more && { nextCursor: String(offset + data.length) }),
    }
  }

  async cancel(taskId: string): Promise<Task> {
    try {
      const { data } = await this.#calls.run<TaskReceipt>('cancelInvocation', { params: this.#idsOf(taskId), body: {} })
      return taskOf(data)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'conflict') throw error
      throw new ProtocolError(INVALID_PARAMS, error.message)
    }
  }

  async #receipt({ agent_id, request_id }: { agent_id: string; request_id: string }): Promise<TaskReceipt> {
    const params = { agent_id, request_id }
    return (await this.#calls.run<TaskReceipt>('getInvocation', { params })).data
  }

  /** Splits a task's ID, which contains the agent because the path may not name it. */
  #idsOf(taskId: string): { agent_id: string; request_id: string } {
    const end = taskId.lastIndexOf('.')
    const [agent_id, request_id] = [taskId.slice(0, end), taskId.slice(end + 1)]
    const { agent } = this.#calls.runner
    if (end < 0 || (agent && agent.id !== agent_id)) throw notFound('Task', taskId)
    return { agent_id, request_id }
  }
}

function justQueued(ids: { agent_id: string; request_id: string }): TaskReceipt {
  const created_at = new Date().toISOString()
  return { ...ids, status: 'queued', error: null, created_at, started_at: null, finished_at: null }
}

function taskOf(
  { agent_id, request_id, status, asks_people, error, ...times }: TaskReceipt,
  asked = 'Waiting for a person to decide',
): Task {
  // A run that waits for anything other than people is shown as working, because the client has nothing to do.
  const isWorking = status === 'waiting' && !asks_people
  const words = status === 'waiting' ? asked : error?.message
  return {
    taskId: `${agent_id}.${request_id}`,
    status: isWorking ? 'working' : STATUS_OF[status],
    // A task is kept as long as its receipt.
    ttl: null,
    createdAt: times.created_at,
    lastUpdatedAt: times.finished_at ?? times.started_at ?? times.created_at,
    pollInterval: POLL_MS,
    ...(words !== undefined && !isWorking && { statusMessage: words }),
  }
}
