import type { Selectable } from 'kysely'
import { type Definition, readDefinition, writeDefinition } from '../../agents/definition.ts'
import type { LogEntry } from '../../runtime/outcome.ts'
import type { Step } from '../../runtime/steps.ts'
import { jsonOf } from '../../storage/damaged-rows.ts'
import type { Database } from '../../storage/database.ts'
import { bulkTable } from '../../storage/journal/bulk-table.ts'
import type { Write } from '../../storage/journal/rows.ts'
import { writeRows } from '../../storage/journal/write-rows.ts'
import { countAll } from '../../storage/queries/count-rows.ts'
import type { Tables } from '../../storage/tables.ts'

const STEPS = bulkTable('steps')
/** A step that replaces a stored one. The draft stored with the first step stays. */
const REPLACED_STEPS = bulkTable('steps', {
  merge: { set: ['kind', 'attempt', 'started_at', 'finished_at', 'content'] },
})

export type KeptSteps = {
  steps: Step[]
  /** The draft with which the run began. Undefined if the run began with a version, or if nothing is stored. */
  definition: Definition | undefined
  /** The position of the next step to store. */
  nextPosition: number
}

export const NOTHING_KEPT: KeptSteps = { steps: [], definition: undefined, nextPosition: 0 }

/** A row for the journal. `definition` is the draft that the run uses; it is stored with the first step. */
export function stepWrite(request_id: string, position: number, step: Step, definition?: Definition): Write {
  const { kind, attempt, started_at, finished_at, ...content } = step
  const row = { request_id, position, kind, attempt, started_at, finished_at, content: JSON.stringify(content) }
  return { into: STEPS, row: { ...row, definition: definition && writeDefinition(definition) } }
}

/** A row that replaces a stored step. */
export function replacedStepWrite(request_id: string, position: number, step: Step): Write {
  return { ...stepWrite(request_id, position, step), into: REPLACED_STEPS }
}

/** The stored steps of a run, in order. */
export async function listKept(db: Database, request_id: string): Promise<KeptSteps> {
  return readKept((await listKeptRows(db, [request_id])).get(request_id) ?? [])
}

type StepRow = Selectable<Tables['steps']>

export async function listKeptRows(db: Database, request_ids: readonly string[]): Promise<Map<string, StepRow[]>> {
  if (request_ids.length === 0) return new Map()
  const rows = await db
    .selectFrom('steps')
    .selectAll()
    .where('request_id', 'in', request_ids)
    .orderBy('request_id')
    .orderBy('position')
    .execute()
  return Map.groupBy(rows, ({ request_id }) => request_id)
}

export async function countKept(db: Database, request_id: string): Promise<number> {
  return countAll(db.selectFrom('steps').where('request_id', '=', request_id))
}

export function readKept(rows: readonly StepRow[]): KeptSteps {
  const kept: KeptSteps = { ...NOTHING_KEPT, steps: [] }
  for (const row of rows) {
    const { request_id: id, position, kind, attempt, started_at, finished_at } = row
    const json = jsonOf('step of', { ...row, id })
    kept.steps.push({ kind, attempt, started_at, finished_at, ...json<object>('content') } as Step)
    kept.nextPosition = position + 1
    if (row.definition !== null) kept.definition = readDefinition(json('definition'))
  }
  return kept
}

/** Adds a step to a waiting run. The caller's transaction has locked the run. */
export async function appendStep(db: Database, request_id: string, step: Step): Promise<void> {
  const last = await db
    .selectFrom('steps')
    .select('position')
    .where('request_id', '=', request_id)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  await writeRows(db, [stepWrite(request_id, (last?.position ?? -1) + 1, step)])
}

/** The log entries of the steps, which are written to the log when the run ends. */
export function logsOf(steps: readonly Step[]): LogEntry[] {
  return steps.flatMap(({ logs }) => logs)
}

/** Removes the steps of runs that another node ends, in the transaction that ends them. */
export async function removeKept(db: Database, request_ids: readonly string[]): Promise<void> {
  if (request_ids.length === 0) return
  await db.deleteFrom('steps').where('request_id', 'in', request_ids).execute()
}
