import { z } from 'zod'
import type { ApiError } from '../../errors.ts'
import type { Mode } from '../../operation/reply-channel.ts'
import type { Operation } from '../../operation.ts'
import type { Content } from '../../storage/bytes/content.ts'
import { readIdempotencyKey } from '../input/request-headers.ts'
import { validate } from '../input/validate.ts'
import type { CallRunner, ReceivedRequest, RenderedReply } from './dialect.ts'
import { enveloped } from './moorage.ts'

type CallInput = {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
  /** What the client sent, if the body was derived from it. */
  sent?: unknown
  mode?: Mode
  /**
   * Set for a call other than the one that the client's Idempotency-Key is for. Its own key is derived from the
   * client's key.
   */
  beside?: string
}

/** The answer in our own dialect. `status` is 202 if the work continues. */
type CallAnswer<T> = { status: number; data: T; pagination: { total: number; has_more: boolean } }

type Channel = Parameters<CallRunner['run']>[1]

/** Calls operations by their IDs, for the requests that a protocol sends inside one of ours. */
export class OperationCalls {
  readonly received: ReceivedRequest
  readonly runner: CallRunner
  readonly #operations: readonly Operation[]
  readonly #onFailure: (error: ApiError) => void

  constructor(
    operations: readonly Operation[],
    received: ReceivedRequest,
    runner: CallRunner,
    onFailure: (error: ApiError) => void = () => {},
  ) {
    this.received = received
    this.runner = runner
    this.#operations = operations
    this.#onFailure = onFailure
  }

  /** Whether the client has sent an Idempotency-Key. */
  get isKeyed(): boolean {
    return readIdempotencyKey(this.received.message) !== undefined
  }

  /** Rejects with an ApiError. Refusals have been recorded in the audit log by then. */
  async run<T>(id: string, input: CallInput, channel?: Channel): Promise<CallAnswer<T>> {
    const { status, body } = await this.#answer(id, input, channel)
    return { status, ...JSON.parse(body) }
  }

  /** The same, for an operation that returns bytes. */
  async content(id: string, input: CallInput): Promise<Content> {
    const { content } = await this.#answer(id, input)
    if (!content) throw new Error(`the operation ${id} answers with no bytes`)
    return content
  }

  async #answer(id: string, input: CallInput, channel?: Channel): Promise<RenderedReply> {
    const operation = this.#operations.find((candidate) => candidate.id === id)
    if (!operation) throw new Error(`there is no operation ${id}`)
    const { params = {}, query = {}, body, sent = body, mode = 'reply', beside } = input
    try {
      const key = operation.idempotent ? readIdempotencyKey(this.received.message) : undefined
      const call = {
        operation,
        params,
        query: validate(operation.input?.query ?? z.strictObject({}), query),
        body,
        sent: { operation: id, params, sent },
        mode,
        last_event_id: undefined,
        // A client's key has no space, so it is never equal to this one.
        idempotencyKey: key === undefined || beside === undefined ? key : `${key} ${beside}`,
        writer: enveloped,
      }
      return await this.runner.run(call, channel)
    } catch (error) {
      const failure = this.runner.fail(error, operation)
      this.#onFailure(failure)
      throw failure
    }
  }
}
