import { setTimeout as delay } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { ApiError, StillRunning } from '../../../errors.ts'
import { waitAtMost } from '../../../lib/work/wait-at-most.ts'
import type { Parts } from '../../../operation/parts.ts'
import { commitUnlessTaken } from '../../../storage/journal/journal.ts'
import type { Write } from '../../../storage/journal/rows.ts'
import * as claims from '../../../storage/leases/claims.ts'
import { keepLeases, LEASE_MS, type Lease, newOwner } from '../../../storage/leases/lease.ts'
import type { RenderedReply } from '../../dialects/dialect.ts'
import type { FollowRun, KeptReply, Repeatable, RunWithClaim, RunWithin } from './repeatable.ts'
import { keyInUse, keyReused, replayOf, serviceStops, storedReply } from './replay.ts'
import { RunningRequests } from './running-requests.ts'

const WAIT_MS = 30_000
const POLL_MS = 100
const KNOWN_KEYS = 10_000

type Options = Pick<Parts, 'journal' | 'storage' | 'keyring' | 'now' | 'log' | 'node' | 'stopping'> & {
  leaseMs?: number
  waitMs?: number
}

/**
 * Runs a request with an Idempotency-Key only once, no matter how often it is sent. The request claims its key first.
 */
export class Idempotency {
  readonly #parts: Required<Options>
  readonly #requests = new RunningRequests()
  readonly #stopRenewing: () => void
  /** For each key that this node has received, the first attempt to claim it. */
  readonly #firstClaims = new LRUCache<string, Promise<unknown>>({ max: KNOWN_KEYS })

  constructor({ leaseMs = LEASE_MS, waitMs = WAIT_MS, ...parts }: Options) {
    this.#parts = { ...parts, leaseMs, waitMs }
    // A long run keeps its claim, and a dead process loses it. Losing a claim has no immediate effect, because the run
    // notices it when it writes its results.
    this.#stopRenewing = keepLeases(claims.CLAIMS, {
      db: parts.storage.db,
      now: parts.now,
      log: parts.log,
      lease_ms: leaseMs,
      held: () => this.#requests.leases(),
      lost() {},
    })
  }

  /** Runs a request that is a single transaction: its claim, its work and its reply commit together. */
  onceWithin(request: Repeatable, run: RunWithin, follow: FollowRun): Promise<RenderedReply> {
    const { storage, keyring, now } = this.#parts
    return this.#untilAnswered(request, async (lease) => {
      const end = this.#requests.begin(lease, request.fingerprint, { isLeased: false })
      let waiting: string | undefined
      try {
        const answered = await storage.transaction(async (db) => {
          const claimed = await claims.claim(db, lease, request, now())
          if (claimed.state === 'waiting') waiting = claimed.run
          if (claimed.state !== 'claimed') return this.#answerOf(claimed, request)
          const beginAnew = () => claims.nameRequest(db, lease, request.request_id)
          const reply = await run(db, { earlier: claimed.earlier, beginAnew })
          await claims.complete(db, lease, storedReply(reply, request.secret, keyring))
          return reply
        })
        return waiting === undefined ? answered : await follow({ earlier: waiting })
      } finally {
        end()
      }
    })
  }

  /** Runs a request whose work may take long. Its claim is leased while it runs, and ends with its effects. */
  once(request: Repeatable, run: RunWithClaim, follow: FollowRun): Promise<RenderedReply> {
    const { storage, now, stopping } = this.#parts
    return this.#untilAnswered(request, async (lease, waited) => {
      const claimed = await this.#claim(request, lease)
      if (claimed.state === 'waiting') return follow({ earlier: claimed.run })
      if (claimed.state !== 'claimed') return this.#answerOf(claimed, request)
      if (!waited || !stopping.aborted) return this.#runHeld(request, lease, claimed.earlier, run)
      await claims.giveUp(storage.db, lease, now())
      throw serviceStops()
    })
  }

  /**
   * Whether the same request was answered with this key, and the stored answer. A run that had to wait has none. Waits
   * if the request is still running here or on another node.
   */
  async findAnswered(request: Repeatable): Promise<{ reply: RenderedReply | undefined } | undefined> {
    const { storage, now, waitMs } = this.#parts
    const { scope, key, fingerprint } = request
    const id = JSON.stringify([scope, key])
    const deadline = performance.now() + waitMs
    for (;;) {
      const here = this.#requests.find(id)
      if (here?.fingerprint !== fingerprint) {
        const found = await claims.findSame(storage.db, request, now())
        if (found?.state !== 'running') return found && { reply: this.#answerOf(found, request) }
      }
      await this.#waitForEnd(id, deadline)
    }
  }

  /** Resolves when no running request has a key. */
  async close(): Promise<void> {
    this.#stopRenewing()
    await this.#requests.allEnded()
  }

  /**
   * Calls `attempt` until it returns a reply. It returns undefined while another request with the key runs, so this
   * waits.
   */
  async #untilAnswered(
    request: Repeatable,
    attempt: (lease: Lease, waited: boolean) => Promise<RenderedReply | undefined>,
  ): Promise<RenderedReply> {
    const { now, node, leaseMs, waitMs } = this.#parts
    const { scope, key, fingerprint } = request
    const id = JSON.stringify([scope, key])
    const deadline = performance.now() + waitMs
    for (let waited = false; ; waited = true) {
      // A run on this node is found in memory, because after a clock jump its stored lease may seem to have ended.
      const here = this.#requests.find(id)
      if (here && here.fingerprint !== fingerprint) throw keyReused()
      if (!here) {
        const lease = { key: [scope, key], owner: newOwner(node), until: now() + leaseMs }
        const reply = await attempt(lease, waited)
        if (reply) return reply
      }
      await this.#waitForEnd(id, deadline)
    }
  }

  /**
   * Claims of new keys are committed together. A key that this node has already received is probably taken, and would
   * make their commit fail.
   */
  async #claim(request: Repeatable, lease: Lease): Promise<claims.ClaimResult> {
    const { journal, now, storage } = this.#parts
    const id = JSON.stringify(lease.key)
    const first = this.#firstClaims.get(id)
    if (first) {
      await first
      return claims.claim(storage.db, lease, request, now())
    }
    const insert = (write: Write) => commitUnlessTaken({ writes: [write] }, journal)
    const claiming = claims.claim(storage.db, lease, request, now(), insert)
    this.#firstClaims.set(
      id,
      claiming.catch(() => {}),
    )
    return claiming
  }

  /** The stored reply, if there is one. */
  #answerOf(
    found: Exclude<claims.ClaimResult, { state: 'claimed' }>,
    { secret }: Repeatable,
  ): RenderedReply | undefined {
    if (found.state === 'other') throw keyReused()
    return found.state === 'done' ? replayOf(found.reply, secret, this.#parts.keyring) : undefined
  }

  async #runHeld(
    { request_id, fingerprint, secret }: Repeatable,
    lease: Lease,
    earlier: string | undefined,
    run: RunWithClaim,
  ): Promise<RenderedReply> {
    const { storage, keyring, now, log } = this.#parts
    const { db } = storage
    const end = this.#requests.begin(lease, fingerprint, { isLeased: true })
    const stored = (reply: KeptReply) => (reply === 'waiting' ? claims.WAITING : storedReply(reply, secret, keyring))
    try {
      return await run({
        earlier,
        beginAnew: () => claims.nameRequest(db, lease, request_id),
        withReply(entry, reply) {
          // If another run has the key by now, this failure isn't returned to any client.
          const ending = reply ? claims.ending(lease, stored(reply)) : claims.freeing(lease)
          return { ...entry, endings: [...(entry.endings ?? []), ending] }
        },
        complete: (reply) => claims.complete(db, lease, stored(reply)),
        standing: () => claims.standing(db, lease),
      })
    } catch (error) {
      const freed = isAnswer(error) ? claims.release(db, lease) : claims.giveUp(db, lease, now())
      await freed.catch((err) => log.warn({ err }, 'could not release an Idempotency-Key'))
      throw error
    } finally {
      end()
    }
  }

  /** Waits until a run on this node ends. For a run on another node, checks the store repeatedly. */
  async #waitForEnd(id: string, deadline: number): Promise<void> {
    const { stopping } = this.#parts
    const left = deadline - performance.now()
    if (left <= 0) throw keyInUse()
    const here = this.#requests.find(id)
    if (here) return waitAtMost(here.ended, left)
    if (stopping.aborted) throw serviceStops()
    await delay(POLL_MS, undefined, { ref: false })
  }
}

/**
 * Whether the error is the final answer. If so, the next request with this key runs again. After any other error, the
 * work may continue on its own, and the next request must find it.
 */
function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && !(error instanceof StillRunning)
}
