// Everything that tests use from inside a running service. A story that a client can tell doesn't need it. It is for
// what no client sees (a row, a lease, another node) and for functions of the service that are tested by themselves.
import type { App } from '../../src/app.ts'
import type { Database } from '../../src/storage/database.ts'
import type { Tables } from '../../src/storage/tables.ts'

/** A node, or anything that contains one. */
type Node = { app: App }

/** The service's parts, for a function that takes some of them. */
export const partsOf = ({ app }: Node) => app.parts

export const storageOf = ({ app }: Node) => app.parts.storage

/** The database, for reading and writing what no operation does. */
export const storeOf = ({ app }: Node): Database => app.parts.storage.db

/** All rows of a table. */
export const rowsOf = (node: Node, table: keyof Tables) => storeOf(node).selectFrom(table).selectAll().execute()

/** Commits everything that `work` does, or nothing, as the service does. */
export const inTransaction = <T>({ app }: Node, work: (db: Database) => Promise<T>): Promise<T> =>
  app.parts.storage.transaction(work)

/** The URL of the PostgreSQL database. Empty on SQLite. */
export const databaseUrl = ({ app }: Node): string => app.parts.config.database.url ?? ''

/** Whether changes made on other nodes arrive at this one. */
export const hearsChanges = ({ app }: Node): boolean => app.parts.storage.hears()

/** The wire that carries messages between nodes. */
export const wireOf = ({ app }: Node) => app.parts.storage.wire

/** The node's name in leases. */
export const nodeOf = ({ app }: Node): string => app.parts.node

export const keyringOf = ({ app }: Node) => app.parts.keyring

/** The runs that this process is working on: all of them, or one agent's. */
export const liveRuns = ({ app }: Node, agent_id?: string) =>
  agent_id === undefined ? app.parts.live.all() : app.parts.live.ofAgent(agent_id)

export const liveRun = ({ app }: Node, request_id: string) => app.parts.live.find(request_id)

/** Starts due jobs now, instead of when the node next checks. */
export const wakeJobs = ({ app }: Node): void => app.jobs.wake()

/** Stops the service as SIGTERM does. Its store stays, and the test can start it again. */
export const stopApp = ({ app }: Node): Promise<void> => app.stop()

/**
 * Makes the run look as if its node had died: its lease belongs to another node and has ended. This node then runs it
 * again.
 */
export async function loseRun(node: Node, request_id: string): Promise<void> {
  const lost = storeOf(node).updateTable('runs').set({ owner: 'service:dead', lease_until: 0 })
  await lost.where('id', '=', request_id).execute()
  wakeJobs(node)
}
