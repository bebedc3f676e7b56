import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { Executor, LostLease } from './executor.ts'
import type { SqliteFailure, SqliteReply, SqliteRequest, SqliteResult, SqliteWorkerData } from './sqlite-messages.ts'

const BUSY_MS = 10_000
const SQLITE_BUSY = 5
const FOREIGN_CHANGE_CHECK_MS = 250

if (parentPort) serve(parentPort, workerData as SqliteWorkerData)

function serve(port: NonNullable<typeof parentPort>, { path, role, takenBack }: SqliteWorkerData): void {
  const connection = open(path, role)
  const executor = new Executor(connection)

  const answer = (request: SqliteRequest): SqliteReply => {
    const { id } = request
    if ('transactions' in request) {
      const outcomes = executor.transact(request.transactions)
      return { id, outcomes: outcomes.map((outcome) => (outcome instanceof Error ? failureOf(outcome) : outcome)) }
    }
    if ('emptyLog' in request) return { id, outcome: emptyLog(connection, executor) }
    if ('statements' in request) return { id, outcome: executor.executeInTransaction(request.statements) }
    return { id, outcome: executor.execute(request) }
  }

  port.on('message', (request: SqliteRequest | 'close') => {
    if (request === 'close') {
      stopWatching()
      connection.close()
      port.close()
      return
    }
    const [after, through] = takenBack as unknown as [number, number]
    if (request.id > after && request.id <= through) return
    let reply: SqliteReply
    try {
      reply = answer(request)
    } catch (error) {
      reply = { id: request.id, outcome: failureOf(error) }
    }
    port.postMessage(reply)
  })

  const stopWatching = role === 'writer' ? watchForeignChanges(connection, port) : () => {}
  port.postMessage({ opened: true } satisfies SqliteReply)
}

/**
 * Copies the write-ahead log into the file and empties it, because the log may still contain texts that are overwritten
 * in the file. It doesn't wait for reads that need the log, because every other writer would have to wait too.
 */
function emptyLog(connection: DatabaseSync, executor: Executor): SqliteResult {
  connection.exec('pragma busy_timeout = 0')
  try {
    return executor.execute({ sql: 'pragma wal_checkpoint(truncate)', values: [] })
  } finally {
    connection.exec(`pragma busy_timeout = ${BUSY_MS}`)
  }
}

function failureOf(error: unknown): SqliteFailure {
  const { message, errcode } = error as Error & { errcode?: number }
  return { error: { message, errcode, lostLease: error instanceof LostLease } }
}

/**
 * Watches data_version, which changes when another process, such as the command line on this host, commits. Commits of
 * this connection don't change it.
 */
function watchForeignChanges(connection: DatabaseSync, port: NonNullable<typeof parentPort>): () => void {
  const dataVersion = connection.prepare('pragma data_version')
  let version = dataVersion.get()?.data_version
  const look = () => {
    try {
      const current = dataVersion.get()?.data_version
      if (current !== version) port.postMessage({ changedElsewhere: true } satisfies SqliteReply)
      version = current
    } catch {
      // The disk can't be read now, but perhaps it can at the next check. Requests get the same error and report it.
    }
  }
  const timer = setInterval(look, FOREIGN_CHANGE_CHECK_MS)
  return () => clearInterval(timer)
}

function open(path: string, role: SqliteWorkerData['role']): DatabaseSync {
  const connection = new DatabaseSync(path, { enableForeignKeyConstraints: true, timeout: BUSY_MS })
  useWal(connection)
  connection.exec('pragma synchronous = full')
  connection.exec('pragma temp_store = memory')
  // Overwrites erased and deleted data in the file.
  connection.exec('pragma secure_delete = on')
  if (role === 'reader') connection.exec('pragma query_only = on')
  return connection
}

/**
 * Switches to write-ahead logging. SQLite doesn't wait for a lock when it changes this mode, and a process that opens
 * the new file at the same time has that lock.
 */
function useWal(connection: DatabaseSync): void {
  const deadline = performance.now() + BUSY_MS
  for (;;) {
    try {
      connection.exec('pragma journal_mode = wal')
      return
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY || performance.now() > deadline) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}
