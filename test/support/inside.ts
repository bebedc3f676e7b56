// Everything that tests take from inside a running service. A story that a client can tell does not need it: this is for
// what no client sees (a row, a lease, another node) and for functions of the service that are tested by themselves.
import type { App } from '../../src/app.ts'
import type { Database } from '../../src/storage/database.ts'
import type { Tables } from '../../src/storage/tables.ts'

/** A node, or anything that has one. */
type Node = { app: App }

/** The parts that the service is made of, for a function that takes some of them. */
export const partsOf = ({ app }: Node) => app.parts

export const storageOf = ({ app }: Node) => app.parts.storage

/** The database, to read and write what no operation does. */
export const storeOf = ({ app }: Node): Database => app.parts.storage.db

/** All rows of a table. */
export const rowsOf = (node: Node, table: keyof Tables) => storeOf(node).selectFrom(table).selectAll().execute()

/** Commits everything that `work` does, or nothing, as the service does. */
export const inTransaction = <T>({ app }: Node, work: (db: Database) => Promise<T>): Promise<T> =>
  app.parts.storage.transaction(work)

/** Where the PostgreSQL database is; empty on SQLite. */
export const databaseUrl = ({ app }: Node): string => app.parts.config.database.url ?? ''

/** Whether changes made on other nodes arrive at this one. */
export const hearsChanges = ({ app }: Node): boolean => app.parts.storage.hears()

/** What carries messages between nodes. */
export const wireOf = ({ app }: Node) => app.parts.storage.wire

/** The node's name in leases. */
export const nodeOf = ({ app }: Node): string => app.parts.node

export const keyringOf = ({ app }: Node) => app.parts.keyring

/** The runs that this process works on: all, or those of one agent. */
export const liveRuns = ({ app }: Node, agent_id?: string) =>
  agent_id === undefined ? app.parts.live.all() : app.parts.live.ofAgent(agent_id)

export const liveRun = ({ app }: Node, request_id: string) => app.parts.live.find(request_id)

/** Jobs that are due begin now, not when the node looks next. */
export const wakeJobs = ({ app }: Node): void => app.jobs.wake()

/** Stops the service as SIGTERM does. Its store stays, and the test can start it again. */
export const stopApp = ({ app }: Node): Promise<void> => app.stop()

/** As if the run were on a node that has died: its lease is another's and has ended. This node begins it again. */
export async function loseRun(node: Node, request_id: string): Promise<void> {
  const lost = storeOf(node).updateTable('runs').set({ owner: 'service:dead', lease_until: 0 })
  await lost.where('id', '=', request_id).execute()
  wakeJobs(node)
}
