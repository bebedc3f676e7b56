import type { ErrorCode } from '../errors.ts'
import type { NewId } from '../lib/id.ts'
import type { Logger } from '../lib/log.ts'
import type { AuditEvent, AuditTrail } from '../operation/audit-trail.ts'
import { addressBucket } from '../security/ip-list.ts'
import type { Journal } from '../storage/journal/journal.ts'
import type { Storage } from '../storage/open-storage.ts'
import { DEFAULT_PROJECT } from '../storage/tables/project-tables.ts'
import type { AuditEntry } from './audit-entry.ts'
import { sealEntries } from './chain.ts'
import * as audit from './store.ts'

export type OpenTrail = AuditTrail & {
  /** Writes the refusals counted so far, and links entries that a dead node left unlinked. */
  tidy(): Promise<void>
  close(): Promise<void>
}

type TrailParts = { storage: Storage; journal: Journal; newId: NewId; now: () => number; log: Logger }

const SEAL_DELAY_MS = 250
const SEAL_TRIES = 4

/**
 * Entries are written without a position in the chain, so that writers do not wait for each other. They are linked a
 * moment later.
 */
export function openTrail({ storage, journal, newId, now, log }: TrailParts): OpenTrail {
  let timer: NodeJS.Timeout | undefined
  let sealing = Promise.resolve()
  /** How many of our entries may still wait to be linked, or for the end of their transaction. */
  let expected = 0

  const sealAll = async () => {
    for (let sealed = -1; sealed !== 0; expected = Math.max(0, expected - sealed)) sealed = await sealEntries(storage)
  }
  const sealSoon = (tries = SEAL_TRIES) => {
    timer ??= setTimeout(() => {
      timer = undefined
      sealing = sealAll()
        .catch((err) => log.warn({ err }, 'audit entries are waiting for their position in the chain'))
        .finally(() => {
          if (expected > 0 && tries > 1) sealSoon(tries - 1)
          else expected = 0
        })
    }, SEAL_DELAY_MS).unref()
  }
  const expectOne = () => {
    expected++
    sealSoon()
  }

  const tally = refusalTally(({ refusal, time, times }: Tally) => {
    const entry = {
      ...entryOf(refusal, newId('aud', time), time),
      outcome: 'refused',
      code: refusal.code,
      times,
    } as const
    journal
      .commit({ writes: [{ into: audit.auditTable, row: audit.toRow(entry) }] })
      .then(expectOne, (err) => log.warn({ err }, 'a refusal could not be written to the audit log'))
  })

  return {
    async record(db, { fields, outcome, ...event }) {
      const time = now()
      await audit.insert(db, { ...entryOf(event, newId('aud', time), time), fields, outcome })
      expectOne()
    },
    refuse: (refusal) => tally.add(refusal, now()),
    async tidy() {
      tally.turnMinute(now())
      await sealAll()
    },
    async close() {
      tally.flush()
      await journal.drain()
      await sealing
      clearTimeout(timer)
      await sealAll().catch((err) => log.warn({ err }, 'the last audit entries will be linked at the next start'))
    },
  }
}

function whoOf(actor: AuditEvent['actor']): Pick<AuditEntry, 'actor_kind' | 'actor' | 'key_id'> {
  if (!actor) return { actor_kind: null, actor: null, key_id: null }
  const { kind, id, person_id, console_session } = actor
  if (person_id !== undefined) return { actor_kind: 'person', actor: person_id, key_id: kind === 'key' ? id : null }
  return { actor_kind: console_session === undefined ? kind : 'console', actor: id, key_id: null }
}

function entryOf(event: AuditEvent, id: string, created_at: number): AuditEntry {
  const { actor, action, project_id, agent_id, target, request_id, address } = event
  return {
    id,
    created_at,
    ...whoOf(actor),
    action,
    project_id,
    agent_id,
    target,
    outcome: 'success',
    code: null,
    fields: [],
    times: 1,
    request_id,
    address,
  }
}

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
