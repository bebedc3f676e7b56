import { randomUUID } from 'node:crypto'
import { parseIfJson } from '../../lib/json.ts'
import type { NodeWire } from '../following/node-message.ts'
import type { AskedStep } from './asked-step.ts'
import { OtherStep, type StepsReply } from './remote-conversation.ts'

type RunRef = { request_id: string; attempt: number }
type StepsRequest = RunRef & { steps: readonly AskedStep[] }
type StepsAnswer = StepsReply | { status: 'other'; message: string }

/**
 * What nodes tell each other about steps. The steps themselves are sent only after a node has said that it has the run.
 */
type StepsMessage =
  | ({ kind: 'steps.find'; by: string; id: string } & RunRef)
  | { kind: 'steps.found'; by: string; id: string }
  /** The node has received the steps and works on them. */
  | { kind: 'steps.taken'; by: string; id: string }
  | ({ kind: 'steps'; by: string; to: string; id: string } & StepsRequest)
  | { kind: 'steps.done'; by: string; id: string; told: StepsAnswer }

type Options = {
  node: string
  /** Undefined when there is only one node. */
  wire: NodeWire | undefined
  has(run: RunRef): boolean
  take(asked: StepsRequest): Promise<StepsReply> | undefined
}

/** The run's node replies immediately, unless it hangs. */
const FOUND_WITHIN_MS = 2_000
/** By then, the run's node has received the steps even if they are large. */
const TAKEN_WITHIN_MS = 10_000
/** The longest time that a run can take. If a message is lost, the agent asks again. */
const DONE_WITHIN_MS = 600_000

type StepsNotFound = { status: 'not found' }
type PendingRequest = {
  asked: StepsRequest
  isFound: boolean
  timer: NodeJS.Timeout
  resolve(told: StepsAnswer | StepsNotFound | undefined): void
}

/** Sends requests for steps to the node that has the run, because a load balancer may send them to another node. */
export class StepsElsewhere {
  readonly #options: Options
  readonly #waiting = new Map<string, PendingRequest>()

  constructor(options: Options) {
    this.#options = options
    options.wire?.onMessage((text) => this.#hear(text))
  }

  /** Undefined if the run's node couldn't be reached. If no node has the run, the caller checks the run again. */
  async ask(asked: StepsRequest): Promise<StepsAnswer | StepsNotFound | undefined> {
    const { wire } = this.#options
    if (!wire) return { status: 'over' }
    const { request_id, attempt } = asked
    const id = randomUUID()
    const { promise, resolve } = Promise.withResolvers<StepsAnswer | StepsNotFound | undefined>()
    const timer = setTimeout(() => this.#end(id, { status: 'not found' }), FOUND_WITHIN_MS)
    this.#waiting.set(id, { asked, isFound: false, timer, resolve })
    await this.#send({ kind: 'steps.find', by: this.#options.node, id, request_id, attempt }).catch(() => {
      this.#end(id, undefined)
    })
    return promise
  }

  /** Makes waiting callers check again and find that the service is stopping. */
  close(): void {
    for (const id of this.#waiting.keys()) this.#end(id, undefined)
  }

  #hear(text: string): void {
    const message = parseIfJson(text) as StepsMessage | undefined
    const { node, has } = this.#options
    if (message === undefined || message.by === node) return
    if (message.kind === 'steps.find' && has(message)) this.#say({ kind: 'steps.found', by: node, id: message.id })
    if (message.kind === 'steps.found') this.#hand(message)
    if (message.kind === 'steps' && message.to === node) void this.#take(message)
    if (message.kind === 'steps.taken') this.#expect(message.id, DONE_WITHIN_MS, undefined)
    if (message.kind === 'steps.done') this.#end(message.id, message.told)
  }

  /** Sends the steps to the node that has the run. */
  #hand({ id, by: to }: { id: string; by: string }): void {
    const waiting = this.#waiting.get(id)
    if (!waiting || waiting.isFound) return
    waiting.isFound = true
    this.#expect(id, TAKEN_WITHIN_MS, { status: 'not found' })
    this.#send({ kind: 'steps', by: this.#options.node, to, id, ...waiting.asked }).catch(() =>
      this.#end(id, undefined),
    )
  }

  async #take({ id, request_id, attempt, steps }: { id: string } & StepsRequest): Promise<void> {
    const taken = this.#options.take({ request_id, attempt, steps })
    if (taken) this.#say({ kind: 'steps.taken', by: this.#options.node, id })
    const told = await (taken ?? Promise.resolve({ status: 'over' as const })).catch((error: unknown): StepsAnswer => {
      const message = error instanceof OtherStep ? error.message : 'the steps could not be done'
      return { status: 'other', message }
    })
    this.#say({ kind: 'steps.done', by: this.#options.node, id, told })
  }

  /** Waits this long for the next message about the steps. */
  #expect(id: string, within_ms: number, otherwise: StepsNotFound | undefined): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    clearTimeout(waiting.timer)
    waiting.timer = setTimeout(() => this.#end(id, otherwise), within_ms)
  }

  async #send(message: StepsMessage): Promise<void> {
    await this.#options.wire?.publish(JSON.stringify(message))
  }

  #say(message: StepsMessage): void {
    this.#send(message).catch(() => {})
  }

  #end(id: string, told: StepsAnswer | StepsNotFound | undefined): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    this.#waiting.delete(id)
    clearTimeout(waiting.timer)
    waiting.resolve(told)
  }
}
