import type { ErrorCode } from '../errors.ts'
import type { AuditEvent } from '../operation/audit-trail.ts'
import { addressBucket } from '../security/ip-list.ts'

export type Refusal = AuditEvent & { code: ErrorCode }

/** Refusals of one kind within one minute. */
export type Tally = { refusal: Refusal; time: number; times: number }

const MINUTE_MS = 60_000
const MAX_KINDS_PER_MINUTE = 300

/**
 * Makes few entries out of many refusals: the first of a kind is told at once, the others of that minute together when
 * it is over. Strangers are told apart by address only, and beyond 300 kinds a minute by nothing but the code, so an
 * attacker decides neither how many entries there are nor what is in them.
 */
export function refusalTally(write: (tally: Tally) => void) {
  let minute = 0
  let kinds = new Map<string, Tally>()

  const flush = () => {
    for (const tally of kinds.values()) if (tally.times > 0) write(tally)
    kinds = new Map()
  }
  const turnMinute = (time: number) => {
    if (Math.floor(time / MINUTE_MS) === minute) return
    flush()
    minute = Math.floor(time / MINUTE_MS)
  }

  return {
    add(refusal: Refusal, time: number): void {
      turnMinute(time)
      const exact = kindOf(refusal)
      const [kind, told] = kinds.has(exact) || kinds.size < MAX_KINDS_PER_MINUTE ? [exact, refusal] : crowd(refusal)
      const tally = kinds.get(kind)
      if (tally) {
        if (tally.times === 0) Object.assign(tally, { refusal: told, time })
        tally.times++
        return
      }
      kinds.set(kind, { refusal: told, time, times: 0 })
      write({ refusal: told, time, times: 1 })
    },
    /** Tells what was counted in a minute that is over by now. */
    turnMinute,
    flush,
  }
}

function kindOf({ code, actor, action, agent_id, address }: Refusal): string {
  const who = actor ? [actor.id, action, agent_id] : [addressBucket(address ?? '')]
  return JSON.stringify([code, ...who])
}

function crowd(refusal: Refusal): [string, Refusal] {
  return [refusal.code, { ...refusal, actor: null, action: null, agent_id: null, address: null }]
}
