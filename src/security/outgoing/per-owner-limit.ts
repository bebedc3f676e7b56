type Owner = { held: number; waiting: Set<() => void> }

/**
 * Gives each owner a few places at a time. A call without a place waits only for other calls of the same owner. A
 * `FairRoom` has a fixed number of places, which agents with slow names could use up together.
 */
export class PerOwnerLimit {
  readonly #perOwner: number
  readonly #owners = new Map<string, Owner>()

  constructor(perOwner: number) {
    this.#perOwner = perOwner
  }

  /** Resolves with the function that releases the place. Rejects if the signal aborts during the wait. */
  async take(name: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted()
    const owner = this.#owners.get(name) ?? { held: 0, waiting: new Set() }
    this.#owners.set(name, owner)
    if (owner.held >= this.#perOwner) await waitForPlace(owner, signal)
    else owner.held += 1
    return () => this.#leave(name, owner)
  }

  /** The place goes directly to the call that has waited longest, so no other call can take it. */
  #leave(name: string, owner: Owner): void {
    const [next] = owner.waiting
    if (next) next()
    else owner.held -= 1
    if (owner.held === 0) this.#owners.delete(name)
  }
}

function waitForPlace({ waiting }: Owner, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const enter = () => {
      leaveQueue()
      resolve()
    }
    const giveUp = () => {
      leaveQueue()
      reject(signal.reason)
    }
    const leaveQueue = () => {
      waiting.delete(enter)
      signal.removeEventListener('abort', giveUp)
    }
    waiting.add(enter)
    signal.addEventListener('abort', giveUp)
  })
}
