import { randomUUID } from 'node:crypto'
import { parseIfJson } from '../../lib/json.ts'
import type { NodeWire } from '../following/node-message.ts'
import type { AskedStep } from './asked-step.ts'
import { OtherStep, type StepsReply } from './remote-conversation.ts'

type Asked = { request_id: string; attempt: number; steps: readonly AskedStep[] }
type Told = StepsReply | { status: 'other'; message: string }

/** What nodes say to each other about steps. */
type StepsMessage =
  | ({ kind: 'steps'; by: string; id: string } & Asked)
  /** The node has the run, and works on the steps. */
  | { kind: 'steps.taken'; by: string; id: string }
  | { kind: 'steps.done'; by: string; id: string; told: Told }

type Options = {
  node: string
  /** Undefined when there is only one node. */
  wire: NodeWire | undefined
  take(asked: Asked): Promise<StepsReply> | undefined
}

/** A node that has the run says so at once. */
const FOUND_WITHIN_MS = 2_000
/** As long as a run may take. A message that was lost is asked for again by the agent. */
const DONE_WITHIN_MS = 600_000

type Waiting = { timer: NodeJS.Timeout; resolve(told: Told | undefined): void }

/** A load balancer may bring a remote agent to another node than the one that has called it. That node is asked. */
export class StepsElsewhere {
  readonly #options: Options
  readonly #waiting = new Map<string, Waiting>()

  constructor(options: Options) {
    this.#options = options
    options.wire?.onMessage((text) => this.#hear(text))
  }

  /** Undefined if no node answers. A run that no node has is over. */
  async ask(asked: Asked): Promise<Told | undefined> {
    const { wire, node } = this.#options
    if (!wire) return { status: 'over' }
    const id = randomUUID()
    const { promise, resolve } = Promise.withResolvers<Told | undefined>()
    this.#waiting.set(id, { timer: setTimeout(() => this.#end(id, { status: 'over' }), FOUND_WITHIN_MS), resolve })
    await wire.publish(JSON.stringify({ kind: 'steps', by: node, id, ...asked })).catch(() => this.#end(id, undefined))
    return promise
  }

  /** Those who wait look again, and find that the service stops. */
  close(): void {
    for (const id of this.#waiting.keys()) this.#end(id, undefined)
  }

  #hear(text: string): void {
    const message = parseIfJson(text) as StepsMessage | undefined
    if (message === undefined || message.by === this.#options.node) return
    if (message.kind === 'steps') void this.#take(message)
    if (message.kind === 'steps.done') this.#end(message.id, message.told)
    if (message.kind === 'steps.taken') {
      const waiting = this.#waiting.get(message.id)
      if (!waiting) return
      clearTimeout(waiting.timer)
      waiting.timer = setTimeout(() => this.#end(message.id, undefined), DONE_WITHIN_MS)
    }
  }

  async #take({ id, request_id, attempt, steps }: { id: string } & Asked): Promise<void> {
    const taken = this.#options.take({ request_id, attempt, steps })
    if (!taken) return
    this.#say({ kind: 'steps.taken', by: this.#options.node, id })
    const told = await taken.catch((error: unknown): Told => {
      const message = error instanceof OtherStep ? error.message : 'the steps could not be done'
      return { status: 'other', message }
    })
    this.#say({ kind: 'steps.done', by: this.#options.node, id, told })
  }

  #say(message: StepsMessage): void {
    this.#options.wire?.publish(JSON.stringify(message)).catch(() => {})
  }

  #end(id: string, told: Told | undefined): void {
    const waiting = this.#waiting.get(id)
    if (!waiting) return
    this.#waiting.delete(id)
    clearTimeout(waiting.timer)
    waiting.resolve(told)
  }
}
