import { ApiError, StillRunning } from '../../../errors.ts'
import type { Latest } from '../../../lib/latest.ts'
import { GoesOutside } from '../../../operation/goes-outside.ts'
import type { Parts } from '../../../operation/parts.ts'
import type { ClaimReader } from '../../../storage/leases/claim-reader.ts'
import * as claims from '../../../storage/leases/claims.ts'
import type { Lease } from '../../../storage/leases/lease.ts'
import type { Rendered } from '../../dialects/dialect.ts'
import type { Repeatable, RunHeld } from './repeatable.ts'
import { storedReply } from './replay.ts'
import type { RunningRequests } from './running-requests.ts'

/** What both ways to run a request need. */
export type HeldParts = Pick<Parts, 'storage' | 'keyring' | 'now' | 'log'> & {
  requests: RunningRequests
  reader: ClaimReader
  /** Requests with these keys are answered from the store, so they need not run to find that out. */
  stored: Latest
}

/** Runs a request whose key is claimed in the store. `earlier` is the same request, whose process died. */
export async function runClaimed(
  { request_id, fingerprint, secret }: Repeatable,
  lease: Lease,
  earlier: string | undefined,
  run: RunHeld,
  { requests, storage: { db }, keyring, now, log }: HeldParts,
): Promise<Rendered> {
  const end = requests.begin(lease, fingerprint, { isStored: true })
  try {
    return await run({
      earlier,
      claimed: true,
      beginAnew: () => claims.nameRequest(db, lease, request_id),
      withReply(entry, reply) {
        // Nobody may hear of a failure under a key that another run has by now.
        const ending = reply ? claims.ending(lease, storedReply(reply, secret, keyring)) : claims.freeing(lease)
        return { ...entry, endings: [...(entry.endings ?? []), ending] }
      },
      complete: (tx, reply) => claims.complete(tx, lease, storedReply(reply, secret, keyring)),
      isOurs: () => claims.isOurs(db, lease),
    })
  } catch (error) {
    const freed = isAnswer(error) ? claims.release(db, lease) : claims.giveUp(db, lease, now())
    await freed.catch((err) => log.warn({ err }, 'could not free an Idempotency-Key'))
    throw error
  } finally {
    end()
  }
}

/**
 * After an answer the request is over, and the next one under its key runs anew. After any other error its work may go
 * on without it, and then the next one must find that work.
 */
function isAnswer(error: unknown): boolean {
  return error instanceof ApiError && !(error instanceof StillRunning)
}

/**
 * Claims the key in the same commit as what the run leaves, without looking it up before: most keys are new. Returns
 * undefined when the run left nothing: the key is in the store, or it must be claimed first.
 */
export async function runUnclaimed(
  { scope, key, fingerprint, request_id, secret }: Repeatable,
  lease: Lease,
  run: RunHeld,
  { requests, reader, stored, keyring, now }: HeldParts,
): Promise<Rendered | undefined> {
  const end = requests.begin(lease, fingerprint, { isStored: false })
  let overtaken = false
  let failed = false
  try {
    return await run({
      earlier: undefined,
      claimed: false,
      beginAnew: async () => true,
      withReply(entry, reply) {
        failed = !reply
        if (!reply) return { ...entry, claim: claims.freed(lease, fingerprint, now()) }
        const kept = storedReply(reply, secret, keyring)
        return { ...entry, claim: claims.answered(lease, { fingerprint, request_id }, kept, now()) }
      },
      complete: () => Promise.reject(new Error('an operation that stays inside leaves an entry for the journal')),
      async isOurs() {
        overtaken = true
        return false
      },
    })
  } catch (error) {
    if (overtaken || error instanceof GoesOutside) return undefined
    if (failed) {
      stored.add(claims.idOf({ scope, key }))
      throw error
    }
    // This run has claimed nothing. Its key may have an answer nevertheless.
    if (await reader.find({ scope, key }).catch(() => undefined)) return undefined
    throw error
  } finally {
    end()
  }
}
