import { redact, redactDeep } from '../lib/text/redact.ts'
import { storable } from '../lib/text/text.ts'
import type { LogEntry } from '../runtime/outcome.ts'
import type { Database } from '../storage/database.ts'
import type { BulkTable, Write } from '../storage/journal/rows.ts'
import { countInserted } from '../storage/queries/count-changes.ts'
import { LOGS_OF_AGENT } from '../storage/queries/counted-lists.ts'
import { missingAgents } from '../storage/queries/missing-agents.ts'
import { LEVELS, type StoredLogEntry } from './log-entry.ts'

const COLUMNS = ['agent_seq', 'timestamp', 'level', 'request_id', 'message', 'metadata'] as const
const LOGS: BulkTable = { table: 'logs', columns: COLUMNS, count: countInserted([LOGS_OF_AGENT], COLUMNS) }
const MESSAGE_CHARACTERS = 10_000
const METADATA_CHARACTERS = 20_000

type Source = { agent_seq: number; request_id: string }

/** The entries of an agent, its model and its tools, for the journal. Secrets are removed. */
export function logWrites(source: Source, entries: readonly LogEntry[]): Write[] {
  return entries.map(({ message, metadata, ...entry }) =>
    ownLogWrite(source, { ...entry, message: redact(message), metadata: redactDeep(metadata) as LogEntry['metadata'] }),
  )
}

/** An entry of the service itself, which contains no secrets. */
export function ownLogWrite({ agent_seq, request_id }: Source, entry: LogEntry): Write {
  const { timestamp, level, message, metadata } = entry
  return {
    into: LOGS,
    row: [agent_seq, timestamp, LEVELS.indexOf(level), request_id, shortText(message), shortJson(metadata)],
  }
}

function shortText(text: string): string {
  return storable(text.length > MESSAGE_CHARACTERS ? `${text.slice(0, MESSAGE_CHARACTERS)}…` : text)
}

function shortJson(metadata: unknown): string {
  const json = JSON.stringify(metadata)
  return json.length > METADATA_CHARACTERS ? JSON.stringify({ left_out: `${json.length} characters` }) : json
}

/** Removes at most `limit` entries that are older. Returns how many. */
export async function remove(db: Database, before: number, limit: number): Promise<number> {
  // Entries are numbered as they are written, so the oldest have the smallest ids. An index of times would slow down
  // every insert.
  const oldest = db.selectFrom('logs').select('id').orderBy('id').limit(limit)
  const { numDeletedRows } = await db
    .deleteFrom('logs')
    .where('id', 'in', db.selectFrom(oldest.as('oldest')).select('oldest.id'))
    .where('timestamp', '<', before)
    .executeTakeFirst()
  return Number(numDeletedRows)
}

/** How many ids one statement has, because both engines limit that number. */
const REQUESTS_AT_ONCE = 100

export async function listOfRequests(db: Database, agent_seq: number, requests: string[]): Promise<StoredLogEntry[]> {
  const found: StoredLogEntry[] = []
  for (let i = 0; i < requests.length; i += REQUESTS_AT_ONCE) {
    const rows = await db
      .selectFrom('logs')
      .select(['timestamp', 'level', 'request_id', 'message', 'metadata'])
      .where('agent_seq', '=', agent_seq)
      .where('request_id', 'in', requests.slice(i, i + REQUESTS_AT_ONCE))
      .orderBy('id')
      .execute()
    found.push(...rows.map(fromRow))
  }
  return found
}

/** Returns how many entries it removed. */
export async function removeOfRequests(db: Database, agent_seq: number, requests: string[]): Promise<number> {
  let removed = 0
  for (let i = 0; i < requests.length; i += REQUESTS_AT_ONCE) {
    const { numDeletedRows } = await db
      .deleteFrom('logs')
      .where('agent_seq', '=', agent_seq)
      .where('request_id', 'in', requests.slice(i, i + REQUESTS_AT_ONCE))
      .executeTakeFirst()
    removed += Number(numDeletedRows)
  }
  return removed
}

export async function removeOfMissingAgents(db: Database, limit: number): Promise<number> {
  const agents = await missingAgents(db, 'logs')
  if (agents.length === 0) return 0
  const left = db.selectFrom('logs').select('id').where('agent_seq', 'in', agents).limit(limit)
  const { numDeletedRows } = await db.deleteFrom('logs').where('id', 'in', left).executeTakeFirst()
  return Number(numDeletedRows)
}

export type LogRow = { timestamp: number; level: number; request_id: string; message: string; metadata: string }

export function fromRow({ timestamp, level, request_id, message, metadata }: LogRow): StoredLogEntry {
  return {
    timestamp,
    level: LEVELS[level] as StoredLogEntry['level'],
    message,
    metadata: { ...JSON.parse(metadata), request_id },
  }
}
