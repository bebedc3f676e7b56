import type { Lease } from '../../../storage/leases/lease.ts'

/** A request that runs on this node. */
type RunningRequest = { lease: Lease; isLeased: boolean; fingerprint: string; ended: Promise<void> }

/** The active requests with an Idempotency-Key on this node. Retries wait here for their end. */
export class RunningRequests {
  readonly #byId = new Map<string, RunningRequest>()

  /**
   * From now on, retries on this node wait for the request. `isLeased` says whether its claim is renewed: a claim
   * inside a transaction isn't. Returns the function that reports the request's end.
   */
  begin(lease: Lease, fingerprint: string, { isLeased }: { isLeased: boolean }): () => void {
    const id = JSON.stringify(lease.key)
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    this.#byId.set(id, { lease, isLeased, fingerprint, ended })
    return () => {
      // Another run may have taken over the key. Its entry stays.
      if (this.#byId.get(id)?.lease === lease) this.#byId.delete(id)
      resolve()
    }
  }

  find(id: string): RunningRequest | undefined {
    return this.#byId.get(id)
  }

  leases(): Lease[] {
    return [...this.#byId.values()].filter(({ isLeased }) => isLeased).map(({ lease }) => lease)
  }

  async allEnded(): Promise<void> {
    await Promise.all([...this.#byId.values()].map(({ ended }) => ended))
  }
}
