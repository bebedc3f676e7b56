import type { Logger } from '../../lib/log.ts'
import type { LiveRuns } from './live-runs.ts'
import type { NodeMessage, NodeWire } from './node-message.ts'
import { SpokenRuns } from './spoken-runs.ts'
import { type Watch, WatchedRuns } from './watched-runs.ts'

type Options = {
  node: string
  live: LiveRuns
  /** Undefined when there is only one node. */
  wire: NodeWire | undefined
  /** Which of these runs no node works on any more. */
  findEnded(ids: string[]): Promise<string[]>
  log: Logger
}

/**
 * Lets clients follow runs on other nodes. The node that runs one sends its output in small batches to the nodes whose
 * clients follow it (`SpokenRuns`). Each of those nodes keeps one copy (`WatchedRuns`). A copy is a `LiveRun`, so
 * clients follow all runs in the same way, wherever they are.
 */
export class RemoteRuns {
  readonly #options: Options
  readonly #watched: WatchedRuns
  readonly #spoken: SpokenRuns
  #publishing: Promise<unknown> = Promise.resolve()

  constructor(options: Options) {
    const { live, wire, findEnded } = options
    const send = (message: NodeMessage) => this.#publish(message)
    this.#options = options
    this.#watched = new WatchedRuns({ live, send, findEnded })
    this.#spoken = new SpokenRuns({ live, send })
    wire?.onMessage((message) => this.#hearIfReadable(message))
  }

  /** Lets clients of this node follow a run of another node. */
  watch(request_id: string): Watch {
    return this.#watched.watch(request_id)
  }

  /** Stops following runs on other nodes. The followers check again and find that the service is stopping. */
  close(): void {
    this.#watched.close()
    this.#spoken.close()
  }

  /** An unreadable message must not end this process. */
  #hearIfReadable(text: string): void {
    try {
      this.#hear(JSON.parse(text))
    } catch (err) {
      this.#options.log.debug({ err }, 'could not read a message from another node')
    }
  }

  #hear(message: NodeMessage & { by: string }): void {
    const { node } = this.#options
    if (message.by === node) return
    if (message.kind === 'follow') return this.#spoken.hearFollower(message.runs, message.by)
    const isForAnother = message.kind === 'all' && message.to !== null && message.to !== node
    if (!isForAnother) this.#watched.hear(message)
  }

  #publish(message: NodeMessage): void {
    const { wire, node, log } = this.#options
    if (!wire) return
    const text = JSON.stringify({ by: node, ...message })
    this.#publishing = this.#publishing
      .then(() => wire.publish(text))
      .catch((err) => log.debug({ err }, 'run events did not reach the other nodes'))
  }
}
