import type { ErrorCode } from '../errors.ts'
import type { AuditEvent } from '../operation/audit-trail.ts'
import { addressBucket } from '../security/ip-list.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'

export type Refusal = AuditEvent & { code: ErrorCode }

/** The refusals of one kind in one minute. */
export type Tally = { refusal: Refusal; time: number; times: number }

const MINUTE_MS = 60_000
const MAX_KINDS_PER_MINUTE = 300

/**
 * Combines many refusals into few entries. The first of a kind is written immediately, and the others of that minute
 * together at its end. Unknown actors are distinguished only by IP address. After 300 kinds in a minute, only the code
 * is distinguished. So an attacker can decide neither the number of entries nor their content.
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
    /** Writes the counts of the minutes that are over. */
    turnMinute,
    flush,
  }
}

function kindOf({ code, actor, action, project_id, agent_id, address }: Refusal): string {
  const who = actor ? [actor.id, action, project_id, agent_id] : [addressBucket(address ?? '')]
  return JSON.stringify([code, ...who])
}

function crowd(refusal: Refusal): [string, Refusal] {
  return [
    refusal.code,
    { ...refusal, actor: null, action: null, project_id: DEFAULT_PROJECT, agent_id: null, address: null },
  ]
}
