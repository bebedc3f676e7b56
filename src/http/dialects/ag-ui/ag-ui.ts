import { invalid } from '../../../errors.ts'
import type { Operation } from '../../../operation.ts'
import { readBody } from '../../input/body.ts'
import { readIdempotencyKey } from '../../input/request-headers.ts'
import type { Dialect, NamedCall, ReceivedRequest, RenderedReply, Route } from '../dialect.ts'
import { enveloped, moorage } from '../moorage.ts'
import { AgUiWriter } from './event-writer.ts'
import { type Asked, decisionOf, type InterruptName, readInterrupts } from './interrupts.ts'
import { endsWithUser, messageCall, type ResumeEntry, readRun, type SentRun } from './sent-run.ts'

const OWN_PATH = /^\/v1\/agents\/[^/]+\/ag-ui$/

/** The dialect of AG-UI 1.0: a run is an invocation, and a thread is a session. */
export const agUi: Dialect = {
  ...moorage,
  name: 'ag-ui',
  door: 'ag-ui',
  routes,
  owns: (path) => OWN_PATH.test(path),
}

function routes(operations: readonly Operation[]): Route[] {
  const of = (id: string) => operations.find((operation) => operation.id === id) as Operation
  const called: Called = {
    invoke: of('invokeAgent'),
    read: of('getInvocation'),
    stream: of('streamInvocation'),
    cancel: of('cancelInvocation'),
    asked: of('listApprovals'),
    decide: of('decideApproval'),
  }
  return [
    {
      dialect: agUi,
      method: 'POST',
      path: '/v1/agents/{agent_id}/ag-ui',
      operation: called.invoke,
      name: (received) => new AgUiRequest(called, received).call(),
    },
  ]
}

type Called = Record<'invoke' | 'read' | 'stream' | 'cancel' | 'asked' | 'decide', Operation>

/** One request, and the calls that it consists of. */
class AgUiRequest {
  readonly #operations: Called
  readonly #received: ReceivedRequest
  readonly #sent: unknown
  readonly #run: SentRun
  readonly #key: string | undefined

  constructor(operations: Called, received: ReceivedRequest) {
    this.#operations = operations
    this.#received = received
    this.#sent = readBody(operations.invoke, received.bytes)
    this.#run = readRun(this.#sent)
    this.#key = readIdempotencyKey(received.message)
  }

  call(): NamedCall {
    const { resume } = this.#run
    return resume && resume.length > 0 ? this.#resume(resume) : this.#message()
  }

  #message(): NamedCall {
    const writer = new AgUiWriter(this.#run, this.#received.request_id)
    const call = this.#named(this.#operations.invoke, {}, { mode: 'stream', writer, idempotencyKey: this.#key })
    return { ...call, ...messageCall(this.#run) }
  }

  /** First reads the run that was interrupted, which has to be one of this thread and user. */
  #resume(entries: readonly ResumeEntry[]): NamedCall {
    const names = readInterrupts(entries)
    const { request_id } = names[0]
    return this.#named(
      this.#operations.read,
      { request_id },
      {
        next: (reply) => {
          const { context, status } = dataOf<InterruptedRun>(reply)
          if (!isOfSender(context, this.#run)) {
            throw invalid({ field: 'resume.0.interruptId', error: 'is not an interrupt of this thread' })
          }
          const isAbandoned = entries.every((entry) => entry.status === 'cancelled') && endsWithUser(this.#run)
          if (isAbandoned) return status === 'waiting' ? this.#cancel(request_id) : this.#message()
          return status === 'waiting' ? this.#listAsked(entries, names) : this.#follow(names[0])
        },
      },
    )
  }

  /** The user has sent another message instead of an answer. */
  #cancel(request_id: string): NamedCall {
    const idempotencyKey = this.#keyFor('cancel')
    return this.#named(this.#operations.cancel, { request_id }, { idempotencyKey, next: () => this.#message() })
  }

  /** Reads what is still to be decided. What was decided meanwhile stays as it is. */
  #listAsked(entries: readonly ResumeEntry[], names: readonly [InterruptName, ...InterruptName[]]): NamedCall {
    const { request_id } = names[0]
    const query = { request_id, status: 'pending', limit: 100, offset: 0, sort: 'created_at' }
    const next = (reply: RenderedReply) => this.#decide(decisionsOf(entries, names, dataOf(reply)), names[0])
    return this.#named(this.#operations.asked, {}, { query, next })
  }

  #decide([decision, ...others]: Decided[], name: InterruptName): NamedCall {
    if (!decision) return this.#follow(name)
    const { params, body } = decision
    const idempotencyKey = this.#keyFor(`${params.request_id} ${params.call_id}`)
    const next = () => this.#decide(others, name)
    return this.#named(this.#operations.decide, params, { body, sent: body, idempotencyKey, next })
  }

  /** Streams what the client doesn't have yet, until the run ends or waits again. */
  #follow({ request_id, told }: InterruptName): NamedCall {
    const writer = new AgUiWriter(this.#run, request_id, told)
    return this.#named(this.#operations.stream, { request_id }, { mode: 'stream', writer, endsAfter: 'waiting' })
  }

  #named(operation: Operation, params: Record<string, string>, call: Partial<NamedCall>): NamedCall {
    return {
      operation,
      params: { agent_id: this.#received.params['agent_id'] ?? '', ...params },
      body: {},
      query: {},
      sent: this.#sent,
      mode: 'reply',
      last_event_id: undefined,
      idempotencyKey: undefined,
      writer: enveloped,
      ...call,
    }
  }

  /** The key of a call other than the one that the client's Idempotency-Key is for. A client's key has no space. */
  #keyFor(call: string): string | undefined {
    return this.#key === undefined ? undefined : `${this.#key} ${call}`
  }
}

type Decided = { params: { agent_id: string; request_id: string; call_id: string }; body: object }

/** The decisions on what is still pending. A child of the run may be the one that asks. */
function decisionsOf(
  entries: readonly ResumeEntry[],
  names: readonly InterruptName[],
  pending: readonly (Asked & { agent_id: string; request_id: string })[],
): Decided[] {
  return entries.flatMap((entry, i) => {
    const { asked } = names[i] ?? {}
    const found = pending.find((one) => one.request_id === asked?.request_id && one.call_id === asked.call_id)
    if (!found) return []
    const { agent_id, request_id, call_id, kind } = found
    return [{ params: { agent_id, request_id, call_id }, body: decisionOf(entry, kind, `resume.${i}.payload`) }]
  })
}

function dataOf<T>({ body }: RenderedReply): T {
  return (JSON.parse(body) as { data: T }).data
}

type InterruptedRun = { context: { session_id?: string; user_id?: string }; status: string }

/** Several users can have threads with the same ID. */
function isOfSender(
  { session_id, user_id }: InterruptedRun['context'],
  { threadId, forwardedProps }: SentRun,
): boolean {
  return session_id === threadId && user_id === (forwardedProps?.user_id || user_id)
}
