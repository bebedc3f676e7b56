import type { Lease } from '../../../storage/leases/lease.ts'

/** A request that is running on this node. */
type RunningRequest = { lease: Lease; isLeased: boolean; fingerprint: string; ended: Promise<void> }

/** The requests with an Idempotency-Key that are running on this node. Retries wait here until they end. */
export class RunningRequests {
  readonly #byId = new Map<string, RunningRequest>()

  /**
   * From now on, retries on this node wait for this request. `isLeased` says whether its claim is renewed, which isn't
   * done for a claim inside a transaction. Returns the function that reports the request's end.
   */
  begin(lease: Lease, fingerprint: string, { isLeased }: { isLeased: boolean }): () => void {
    const id = JSON.stringify(lease.key)
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    this.#byId.set(id, { lease, isLeased, fingerprint, ended })
    return () => {
      // Another run may have taken over the key, and its entry must stay.
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
