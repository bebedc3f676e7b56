import type { Database } from '../database.ts'
import { isPassing, isUndone } from '../failures.ts'
import type { Storage } from '../open-storage.ts'
import { type BulkTable, type Insert, insertAll, insertMany, type Merge, type Value } from './bulk.ts'

/** One row on its way into a table: its values, in the order of the table's columns. */
export type Write = { into: BulkTable; row: Value[] }

export type Entry = {
  writes: Write[]
  /** Runs in the same transaction before the rows; on false nothing of this entry is written and `commit` says so. */
  guard?: (db: Database) => Promise<boolean>
  /** Its place was set aside with `reserve`, so it is taken however many wait. */
  reserved?: boolean
}

export type Journal = {
  /** Resolves once the entry is on disk: true, or false when its guard refused. */
  commit(entry: Entry): Promise<boolean>
  /** Sets a place in the backlog aside for an entry that will come; false when there is none. */
  reserve(): boolean
  /** Gives a place back that was set aside, used or not. */
  release(): void
  /** Entries that wait for their commit. */
  waiting(): number
  /** Resolves when everything handed in before is committed. */
  drain(): Promise<void>
}

export class BacklogFullError extends Error {}

type Waiting = { entry: Entry; resolve: (written: boolean) => void; reject: (error: unknown) => void }

const BATCH_SIZE = 512
const MAX_TRIES = 5

/** Rows by the table they go into. */
export type Rows = ReadonlyMap<BulkTable, Value[][]>

/** `onWritten` hears of rows once they are on disk. */
type JournalOptions = { backlog: number; onWritten?: (rows: Rows) => void }

/**
 * Group commit: what is waiting when the writer is free goes to disk in one transaction, so one fsync serves many
 * requests. There is no timer: an idle service commits at once, a slow disk makes larger batches.
 */
export function openJournal(storage: Storage, { backlog, onWritten }: JournalOptions): Journal {
  let queue: Waiting[] = []
  let inBatch = 0
  /** Places that are set aside, and entries that wait without one. */
  let reserved = 0
  let unreserved = 0
  let running: Promise<void> | undefined

  const pump = async () => {
    while (queue.length > 0) {
      const batch = queue.slice(0, BATCH_SIZE)
      queue = queue.slice(BATCH_SIZE)
      inBatch = batch.length
      for (const { entry } of batch) if (!entry.reserved) unreserved--
      await flush(storage, batch, onWritten)
      inBatch = 0
    }
    running = undefined
  }

  const isFull = () => reserved + unreserved >= backlog

  return {
    commit(entry) {
      if (!entry.reserved) {
        if (isFull()) return Promise.reject(new BacklogFullError('too many writes are waiting'))
        unreserved++
      }
      return new Promise((resolve, reject) => {
        queue.push({ entry, resolve, reject })
        // setImmediate: whatever else this turn of the event loop brings in joins the batch.
        running ??= new Promise<void>((done) => setImmediate(done)).then(pump)
      })
    },
    reserve() {
      if (isFull()) return false
      reserved++
      return true
    },
    release() {
      reserved--
    },
    waiting: () => queue.length + inBatch,
    async drain() {
      while (running) await running
    },
  }
}

async function flush(
  storage: Storage,
  batch: Waiting[],
  onWritten: JournalOptions['onWritten'],
  tries = 1,
): Promise<void> {
  try {
    const { rows, refused } = await writeAll(storage, batch)
    for (const waiting of batch) waiting.resolve(!refused.has(waiting))
    // Not in this turn: if it threw here, entries that are on disk would be written again.
    if (onWritten) queueMicrotask(() => onWritten(rows))
  } catch (error) {
    // Two nodes met in the same rows, and this one was undone as a whole: once more.
    if (isUndone(error) && tries < MAX_TRIES) return flush(storage, batch, onWritten, tries + 1)
    // One bad entry must not fail its neighbours: each goes alone.
    if (batch.length > 1 && !isPassing(error)) for (const waiting of batch) await flush(storage, [waiting], onWritten)
    else for (const { reject } of batch) reject(error)
  }
}

async function writeAll(storage: Storage, batch: Waiting[]): Promise<{ rows: Rows; refused: Set<Waiting> }> {
  const refused = new Set<Waiting>()
  if (batch.every(({ entry }) => !entry.guard)) {
    const rows = rowsOf(batch)
    storage.forget(await insertAll(storage.db, insertsOf(rows)))
    return { rows, refused }
  }
  return storage.transaction(async (db) => {
    for (const waiting of batch) {
      if (waiting.entry.guard && !(await waiting.entry.guard(db))) refused.add(waiting)
    }
    const rows = rowsOf(batch.filter((waiting) => !refused.has(waiting)))
    for (const insert of insertsOf(rows)) await insertMany(db, insert.into, insert.rows)
    return { rows, refused }
  })
}

function rowsOf(batch: Waiting[]): Rows {
  const rows = new Map<BulkTable, Value[][]>()
  for (const { entry } of batch) {
    for (const { into, row } of entry.writes) {
      const others = rows.get(into)
      if (others) others.push(row)
      else rows.set(into, [row])
    }
  }
  return rows
}

function insertsOf(rows: Rows): Insert[] {
  const ordered = [...rows].toSorted(([a], [b]) => byTable(a, b))
  return ordered.map(([into, given]) => ({
    into,
    rows: into.merge ? mergeRows(into.columns, into.merge, given) : given,
  }))
}

/** By name, so that equal batches are equal statements. Merged tables come last: nodes that meet in their rows meet in the same order. */
function byTable(a: BulkTable, b: BulkTable): number {
  const last = Number(a.merge !== undefined) - Number(b.merge !== undefined)
  return last || (a.table < b.table ? -1 : Number(a.table > b.table))
}

/** One row per key, in key order: PostgreSQL takes a key only once per statement, and equal order cannot deadlock nodes. */
function mergeRows(columns: readonly string[], { key, add, max, also }: Merge, rows: Value[][]): Value[][] {
  const placesOf = (names: string[]) => names.map((name) => columns.indexOf(name))
  const keys = placesOf(key)
  const added = placesOf(add)
  const largest = placesOf(max)
  const merged = new Map<string, Value[]>()
  const take = (row: Value[]) => {
    let id = ''
    for (const place of keys) id += `${row[place]}\0`
    const sum = merged.get(id)
    if (!sum) {
      merged.set(id, [...row])
      return
    }
    for (const place of added) sum[place] = Number(sum[place]) + Number(row[place])
    for (const place of largest) sum[place] = Math.max(Number(sum[place]), Number(row[place]))
  }
  for (const row of rows) take(row)
  if (also) for (const row of Array.from(merged.values(), also)) take(row)
  return [...merged].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}
