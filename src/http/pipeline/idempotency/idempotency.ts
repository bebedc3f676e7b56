import { Latest } from '../../../lib/latest.ts'
import type { Parts } from '../../../operation/parts.ts'
import { ClaimReader } from '../../../storage/leases/claim-reader.ts'
import * as claims from '../../../storage/leases/claims.ts'
import { isOfDeadService, keepLeases, LEASE_MS, type Lease } from '../../../storage/leases/lease.ts'
import type { Rendered } from '../../dialects/dialect.ts'
import type { Repeatable, RunHeld } from './repeatable.ts'
import { keyInUse, keyReused, replayOf, serviceStops } from './replay.ts'
import { type HeldParts, runClaimed, runUnclaimed } from './run-held.ts'
import { RunningRequests } from './running-requests.ts'

const WAIT_MS = 30_000
const POLL_MS = 100
/** How many stored keys a node remembers. The oldest are forgotten first. */
const STORED_KEYS = 5_000

type Options = Pick<Parts, 'storage' | 'keyring' | 'now' | 'log' | 'node' | 'stopping'> & {
  leaseMs?: number
  waitMs?: number
}

/** Runs a request that carries an Idempotency-Key once, however often it is sent. */
export class Idempotency {
  readonly #parts: HeldParts & Required<Options>
  readonly #stopRenewing: () => void
  #leases = 0

  constructor(options: Options) {
    const { storage, keyring, now, log, node, stopping, leaseMs = LEASE_MS, waitMs = WAIT_MS } = options
    const requests = new RunningRequests()
    const reader = new ClaimReader(storage.db)
    const stored = new Latest(STORED_KEYS)
    this.#parts = { storage, keyring, now, log, node, stopping, leaseMs, waitMs, requests, reader, stored }
    // A long run keeps its claim, and a dead process loses it. Nothing is done when a claim is lost: the run finds that
    // out when it writes what it leaves.
    this.#stopRenewing = keepLeases(claims.CLAIMS, {
      db: storage.db,
      now,
      log,
      lease_ms: leaseMs,
      held: () => requests.storedLeases(),
      lost() {},
    })
  }

  /** Runs the request, or waits for the run under way, or returns the stored reply. */
  async once(request: Repeatable, run: RunHeld): Promise<Rendered> {
    const { scope, key, fingerprint, staysInside } = request
    const { now, stopping, waitMs, requests, reader, stored } = this.#parts
    const id = claims.idOf(request)
    const deadline = performance.now() + waitMs
    for (let waited = false; ; waited = true) {
      // A run on this node is found here, without the store: after a jump of the clock its lease may seem to have
      // ended there.
      const here = requests.find(id)
      if (here) {
        if (here.fingerprint !== fingerprint) throw keyReused()
        await this.#waitForEnd(id, deadline)
        continue
      }
      const found = staysInside && stored.has(id) ? await reader.find({ scope, key }) : undefined
      // The same request may have begun to run here meanwhile.
      if (requests.find(id)) continue
      const time = now()
      const lease = this.#newLease(request, time)
      if (staysInside && !found) {
        if (waited && stopping.aborted) throw serviceStops()
        const reply = await runUnclaimed(request, lease, run, this.#parts)
        if (reply) {
          stored.add(id)
          return reply
        }
      }
      const reply = await this.#claim(request, lease, run, { time, found, waited })
      if (reply) return reply
      await this.#waitForEnd(id, deadline)
    }
  }

  /** Resolves when no run holds a key any more. */
  async close(): Promise<void> {
    this.#stopRenewing()
    await this.#parts.requests.allEnded()
  }

  #newLease({ scope, key }: Repeatable, time: number): Lease {
    const { node, leaseMs } = this.#parts
    return { key: [scope, key], owner: `${node}:${++this.#leases}`, until: time + leaseMs }
  }

  /** Claims the key in the store and runs the request, or returns the stored reply. Undefined: it runs elsewhere. */
  async #claim(
    request: Repeatable,
    lease: Lease,
    run: RunHeld,
    { time, found, waited }: { time: number; found: claims.FoundClaim | undefined; waited: boolean },
  ): Promise<Rendered | undefined> {
    const { storage, keyring, now, node, stopping, stored } = this.#parts
    const isDead = (owner: string) => isOfDeadService(owner, storage.engine, node)
    const claimed = await claims.claim(storage.db, lease, request, { now: time, isDead, found })
    if (claimed.state === 'claimed') {
      if (!waited || !stopping.aborted) return runClaimed(request, lease, claimed.earlier, run, this.#parts)
      await claims.giveUp(storage.db, lease, now())
      throw serviceStops()
    }
    stored.add(claims.idOf(request))
    if (claimed.state === 'other') throw keyReused()
    return claimed.state === 'done' ? replayOf(claimed.reply, request.secret, keyring) : undefined
  }

  /** Waits for the end of a run on this node. One on another node is looked for in the store, again and again. */
  async #waitForEnd(id: string, deadline: number): Promise<void> {
    const { requests, stopping } = this.#parts
    if (performance.now() >= deadline) throw keyInUse()
    const here = requests.find(id)
    if (here) return Promise.race([here.ended, pause(deadline - performance.now())])
    if (stopping.aborted) throw serviceStops()
    await pause(POLL_MS)
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)).unref())
}
