import { ApiError, StillRunning, unavailable } from '../../errors.ts'
import { canonicalJson } from '../../lib/json.ts'
import { Latest } from '../../lib/latest.ts'
import { GoesOutside } from '../../operation/goes-outside.ts'
import type { Parts } from '../../operation/parts.ts'
import { sha256 } from '../../security/digest.ts'
import type { Database } from '../../storage/database.ts'
import type { JournalEntry } from '../../storage/journal/entry.ts'
import { ClaimReader } from '../../storage/leases/claim-reader.ts'
import * as claims from '../../storage/leases/claims.ts'
import { isOfDeadService, keepLeases, LEASE_MS, type Lease } from '../../storage/leases/lease.ts'
import type { Rendered } from '../dialects/dialect.ts'

const WAIT_MS = 30_000
const POLL_MS = 100
const PURPOSE = 'idempotency'
export const REPLAYED = 'Idempotent-Replayed'
/** How many stored keys a node remembers at most. */
const STORED_KEYS = 5_000

/** A request that may be sent again. */
export type Repeatable = {
  /** Its own id, or that of the run that it is about. */
  request_id: string
  scope: string
  key: string
  fingerprint: string
  /** Its reply is stored encrypted. */
  secret: boolean
  /**
   * The request has no effect before its entry is in the journal, so the entry and its claim can be written together.
   */
  staysInside: boolean
}

/** The right to run the request. Its reply is stored together with its effects, or neither is. */
export type Held = {
  /** The same request, sent before: its process died while it ran. */
  readonly earlier: string | undefined
  /** The key is in the store already. Otherwise it is claimed with what the run leaves. */
  readonly claimed: boolean
  /**
   * Called when nothing of the earlier request is stored: this request begins anew, and later ones look for it.
   * Returns false when another run has taken over.
   */
  beginAnew(): Promise<boolean>
  /** Adds the reply, for repeated requests, to the entry. A run without a reply failed: then the key becomes free. */
  withReply(entry: JournalEntry, reply: Rendered | undefined): JournalEntry
  /** Stores the reply in the transaction of the effects. Returns false when another run has taken over. */
  complete(db: Database, reply: Rendered): Promise<boolean>
  isOurs(): Promise<boolean>
}

export type Idempotency = {
  /** Runs the request, or waits for the run under way, or returns the stored reply. */
  once(request: Repeatable, run: (held: Held) => Promise<Rendered>): Promise<Rendered>
  /** Resolves when no run holds a key any more. */
  close(): Promise<void>
}

/** A run on this node. Its claim is in the store from the beginning, or is written with what the run leaves. */
type Running = { lease: Lease; isStored: boolean; fingerprint: string; ended: Promise<void> }

type Options = Pick<Parts, 'storage' | 'keyring' | 'now' | 'log' | 'node' | 'stopping'> & {
  leaseMs?: number
  waitMs?: number
}

export function idempotency(options: Options): Idempotency {
  const { storage, keyring, now, log, node, stopping, leaseMs = LEASE_MS, waitMs = WAIT_MS } = options
  const running = new Map<string, Running>()
  const reader = new ClaimReader(storage.db)
  /** Requests with these keys are answered from the store, so they need not run to find that out. */
  const stored = new Latest(STORED_KEYS)
  let claimed = 0

  // A long run keeps its claim, and a dead process loses it. Nothing is done when a claim is lost: the run finds that
  // out when it writes what it leaves.
  const stopRenewing = keepLeases(claims.CLAIMS, {
    db: storage.db,
    now,
    log,
    lease_ms: leaseMs,
    held: () => [...running.values()].filter(({ isStored }) => isStored).map(({ lease }) => lease),
    lost() {},
  })
  const isDead = (owner: string) => isOfDeadService(owner, storage.engine, node)

  const seal = (text: string, secret: boolean) => (secret ? keyring.encrypt(text, PURPOSE) : text)
  const open = (text: string, secret: boolean) => (secret ? keyring.decrypt(text, PURPOSE) : text)

  const runClaimed = async (
    lease: Lease,
    earlier: string | undefined,
    { request_id, fingerprint: print, secret }: Repeatable,
    run: (held: Held) => Promise<Rendered>,
  ) => {
    const end = begin(lease, print, true)
    const sealed = (reply: Rendered) => ({ ...reply, body: seal(reply.body, secret) })
    try {
      return await run({
        earlier,
        claimed: true,
        beginAnew: () => claims.nameRequest(storage.db, lease, request_id),
        withReply(entry, reply) {
          // Nobody may hear of a failure under a key that another run has by now.
          const ending = reply ? claims.ending(lease, sealed(reply)) : claims.freeing(lease)
          return { ...entry, endings: [...(entry.endings ?? []), ending] }
        },
        complete: (db, reply) => claims.complete(db, lease, sealed(reply)),
        isOurs: () => claims.isOurs(storage.db, lease),
      })
    } catch (error) {
      const freed = isAnswer(error) ? claims.release(storage.db, lease) : claims.giveUp(storage.db, lease, now())
      await freed.catch((err) => log.warn({ err }, 'could not free an Idempotency-Key'))
      throw error
    } finally {
      end()
    }
  }

  /**
   * Claims the key in the same commit as what the run leaves, without looking it up before: most keys are new. Returns
   * undefined when the run left nothing: the key is in the store, or it must be claimed first.
   */
  const runUnclaimed = async (
    lease: Lease,
    { scope, key, fingerprint: print, request_id, secret }: Repeatable,
    run: (held: Held) => Promise<Rendered>,
  ) => {
    const end = begin(lease, print, false)
    let refused = false
    let failed = false
    try {
      return await run({
        earlier: undefined,
        claimed: false,
        beginAnew: async () => true,
        withReply(entry, reply) {
          failed = !reply
          if (!reply) return { ...entry, claim: claims.freed(lease, print, now()) }
          const sealed = { ...reply, body: seal(reply.body, secret) }
          return { ...entry, claim: claims.answered(lease, { fingerprint: print, request_id }, sealed, now()) }
        },
        complete: () => Promise.reject(new Error('an operation that stays inside leaves an entry for the journal')),
        async isOurs() {
          refused = true
          return false
        },
      })
    } catch (error) {
      if (refused || error instanceof GoesOutside) return undefined
      if (failed) {
        stored.add(claims.idOf({ scope, key }))
        throw error
      }
      // A run that was refused has claimed nothing, and its key may have an answer nevertheless.
      if (await reader.find({ scope, key }).catch(() => undefined)) return undefined
      throw error
    } finally {
      end()
    }
  }

  /** From now on retries on this node wait for the run. Returns the function that tells them that it has ended. */
  function begin(lease: Lease, print: string, isStored: boolean): () => void {
    const id = JSON.stringify(lease.key)
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    running.set(id, { lease, isStored, fingerprint: print, ended })
    return () => {
      // Another run may have taken over the key meanwhile. Its entry stays.
      if (running.get(id)?.lease === lease) running.delete(id)
      resolve()
    }
  }

  return {
    async once(request, run) {
      const { scope, key, fingerprint: print, secret } = request
      const id = claims.idOf(request)
      const deadline = performance.now() + waitMs
      let waited = false
      for (;;) {
        // A run on this node is found here, without the store: after a jump of the clock its lease may seem to have
        // ended there.
        const known = running.get(id)
        if (known && known.fingerprint !== print) throw keyReused()
        if (!known) {
          const held = request.staysInside && stored.has(id) ? await reader.find({ scope, key }) : undefined
          // The same request may have begun to run here meanwhile.
          if (running.has(id)) continue
          const time = now()
          const lease = { key: [scope, key], owner: `${node}:${++claimed}`, until: time + leaseMs }
          if (request.staysInside && !held) {
            if (waited && stopping.aborted) throw serviceStops()
            const reply = await runUnclaimed(lease, request, run)
            if (reply) {
              stored.add(id)
              return reply
            }
          }
          const found = await claims.claim(storage.db, lease, request, { now: time, isDead, found: held })
          if (found.state === 'claimed') {
            if (!waited || !stopping.aborted) return runClaimed(lease, found.earlier, request, run)
            // The service is stopping. That ended the run which this retry waited for, and it would end another run
            // too.
            await claims.giveUp(storage.db, lease, now())
            throw serviceStops()
          }
          stored.add(id)
          if (found.state === 'other') throw keyReused()
          if (found.state === 'done') {
            const { status, headers, body } = found.reply
            if (body === '') throw replyErased()
            return { status, headers: { ...headers, [REPLAYED]: 'true' }, body: open(body, secret) }
          }
        }
        if (performance.now() >= deadline) throw keyInUse()
        const here = running.get(id)?.ended
        if (!here && stopping.aborted) throw serviceStops()
        waited = true
        await Promise.race([...(here ? [here] : []), pause(here ? deadline - performance.now() : POLL_MS)])
      }
    },
    async close() {
      stopRenewing()
      await Promise.all([...running.values()].map(({ ended }) => ended))
    },
  }
}

/**
 * After an answer the request is over, and the next one under its key runs anew. After any other error its work may go
 * on without it, and then the next one must find that work.
 */
function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && !(error instanceof StillRunning)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)).unref())
}

export function isReplay(headers: Record<string, string>): boolean {
  return REPLAYED in headers
}

export function fingerprint(method: string, path: string, query: string, body: unknown): string {
  return sha256(`${method} ${path}?${query}\n${canonicalJson(body ?? null)}`)
}

function serviceStops(): ApiError {
  return unavailable('The service is stopping, try again shortly')
}

function replyErased(): ApiError {
  return new ApiError('not_found', 'What was answered under this Idempotency-Key was erased')
}

function keyReused(): ApiError {
  return new ApiError('idempotency_key_reused', 'This Idempotency-Key was used for another request')
}

function keyInUse(): ApiError {
  return new ApiError('idempotency_key_in_use', 'A request with this Idempotency-Key is still running', {
    retry_after: 1,
  })
}
