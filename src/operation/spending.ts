import type { Meter } from '../runtime/models/meter.ts'
import type { Write } from '../storage/journal/rows.ts'
import type { ProjectSnapshot } from './project-snapshot.ts'

/** What a model or an embedder is called for. */
export const PURPOSES = ['run', 'facts', 'summary', 'memory', 'search', 'test', 'replay'] as const
export type Purpose = (typeof PURPOSES)[number]

/** On whose behalf models are called. Missing values are null. */
export type Spender = {
  project_id: string
  agent_seq: number | null
  agent_id: string | null
  request_id: string | null
  purpose: Purpose
  version: string | null
  environment: string | null
  key_id: string | null
  person_id: string | null
  user_id: string | null
  door: string | null
}

/** Lines of the ledger that aren't written yet. */
export type TakenLines = {
  writes: Write[]
  /** They weren't written with the entry that they were taken for. */
  giveBack(): void
}

/** Counts the calls of one run. */
export type RunMeter = Meter & {
  /**
   * The calls that ended since the last time, for the entry that stores their step, the receipt or the wait. A call
   * that reserved a part of a budget isn't included, because it was written when it ended.
   */
  take(): TakenLines
  /**
   * Writes them separately, because there is no run, or it continues elsewhere. Resolves when all calls are written, or
   * can't be.
   */
  flush(): Promise<void>
}

/** Where every call of a model or an embedder is recorded. */
export type Spending = {
  /** `project` is the spender's, if loaded. */
  meter(spender: Spender, project?: ProjectSnapshot): RunMeter
  /** The reserved lines of the ledger whose calls this node makes. */
  heldLines(): ReadonlySet<string>
}

/** The key, role or link in an actor's ID, if it is one. A token belongs to a user, and the host has none. */
export function keyNamed(actor_id: string): string | null {
  return /^(?:key|lnk|rol)_/.test(actor_id) ? actor_id : null
}

/** Only the project is known. */
export function spenderOf(spender: Pick<Spender, 'project_id' | 'purpose'> & Partial<Spender>): Spender {
  return { ...UNKNOWN, ...spender }
}

const UNKNOWN = {
  agent_seq: null,
  agent_id: null,
  request_id: null,
  version: null,
  environment: null,
  key_id: null,
  person_id: null,
  user_id: null,
  door: null,
}
