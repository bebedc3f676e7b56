import type { Database } from '../storage/database.ts'
import type { BulkTable, Write } from '../storage/journal/rows.ts'
import { writeRows } from '../storage/journal/write-rows.ts'
import type { Leased } from '../storage/leases/lease.ts'
import type { LedgerLine } from './ledger-line.ts'

const SPENDER = [
  'project_id',
  'agent_seq',
  'agent_id',
  'request_id',
  'purpose',
  'version',
  'environment',
  'key_id',
  'person_id',
  'user_id',
  'door',
] as const

const USED = ['input_tokens', 'cached_tokens', 'output_tokens', 'reasoning_tokens'] as const

const LEDGER: BulkTable = {
  table: 'ledger',
  columns: ['id', ...SPENDER, 'step', 'attempt', 'model', 'status', ...USED, 'cost_nano', 'price', 'created_at'],
}

const HOUR_KEY = [
  'project_id',
  'hour',
  'agent_id',
  'version',
  'environment',
  'key_id',
  'person_id',
  'door',
  'model',
  'purpose',
]
const HOUR_SUMS = ['calls', ...USED, 'cost_nano', 'unpriced']

const HOURS: BulkTable = {
  table: 'usage_hours',
  columns: [...HOUR_KEY, ...HOUR_SUMS],
  merge: { key: HOUR_KEY, add: HOUR_SUMS, max: [] },
}

/** The call of a reserved line is leased to the node that makes it. */
export const LEASED_LINES: Leased = {
  table: 'ledger',
  key: ['id'],
  until: 'lease_until',
  condition: "status = 'reserved'",
}

const HOUR_MS = 3_600_000

/** A line that was not reserved, and what it adds to the sums of its hour. */
export function lineWrites(line: LedgerLine): Write[] {
  return [{ into: LEDGER, row: line }, hourWrite(line)]
}

/** What a line that has ended adds to the sums of its hour. */
export function hourWrite(line: LedgerLine): Write {
  const { agent_id, version, environment, key_id, person_id, door, cost_nano } = line
  const key = {
    project_id: line.project_id,
    hour: Math.floor(line.created_at / HOUR_MS),
    agent_id: agent_id ?? '',
    version: version ?? '',
    environment: environment ?? '',
    key_id: key_id ?? '',
    person_id: person_id ?? '',
    door: door ?? '',
    model: line.model,
    purpose: line.purpose,
  }
  const { input_tokens, cached_tokens, output_tokens, reasoning_tokens } = line
  const used = { input_tokens, cached_tokens, output_tokens, reasoning_tokens }
  const sums = { calls: 1, ...used, cost_nano: cost_nano ?? 0, unpriced: cost_nano === null ? 1 : 0 }
  return { into: HOURS, row: { ...key, ...sums } }
}

/** Writes lines that may have been written before: a commit of which no word came may have succeeded. */
export async function insertMissing(db: Database, lines: readonly LedgerLine[]): Promise<void> {
  const ids = lines.map(({ id }) => id)
  const found = await db.selectFrom('ledger').select('id').where('id', 'in', ids).execute()
  const known = new Set(found.map(({ id }) => id))
  await writeRows(
    db,
    lines.filter(({ id }) => !known.has(id)).flatMap((line) => lineWrites(line)),
  )
}
