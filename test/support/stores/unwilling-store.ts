import { sql } from 'kysely'
import pg from 'pg'
import { databaseUrl, storeOf } from '../inside.ts'
import { troubleStore } from '../invariants/watch-invariants.ts'
import { until } from '../running/until.ts'
import type { Service } from '../service/service.ts'

/** What a service writes, in terms of the database. */
const WRITES = {
  'a new run': { event: 'insert', table: 'runs', when: 'true' },
  'a result of a tool': { event: 'insert', table: 'steps', when: "new.kind = 'tool'" },
  'a wait': { event: 'update', table: 'runs', when: 'new.wake_at is not null' },
  'the end of a run': { event: 'insert', table: 'invocations', when: 'true' },
  'the success of a delivery': { event: 'update', table: 'deliveries', when: "new.status = 'delivered'" },
} as const

type Write = keyof typeof WRITES

/** An advisory lock of PostgreSQL. */
const HELD = 4711

/** Makes the database refuse this write, as if its disk were full. Resolves with a function that undoes this. */
export async function refuse(service: Service, write: Write): Promise<() => Promise<void>> {
  if (service.engine === 'postgres') return trouble(service, write, `raise exception 'the disk is full'`)
  const { event, table, when } = WRITES[write]
  const refusal = `select raise(abort, 'the disk is full')`
  await run(service, `create trigger trouble before ${event} on ${table} when ${when} begin ${refusal}; end`)
  return () => run(service, 'drop trigger trouble')
}

/** Makes PostgreSQL break the connection at the first such write. Resolves with a function that undoes this. */
export async function breakConnectionOnce(service: Service, write: Write): Promise<() => Promise<void>> {
  await run(service, 'create sequence tried')
  const end = 'perform pg_terminate_backend(pg_backend_pid()), pg_sleep(60)'
  const takeBack = await trouble(service, write, `if nextval('tried') = 1 then ${end}; end if; return new`)
  return async () => {
    await takeBack()
    await run(service, 'drop sequence tried')
  }
}

/** Makes PostgreSQL delay such writes until they are released. */
export async function holdBack(service: Service, write: Write) {
  const client = new pg.Client({ connectionString: databaseUrl(service) })
  await client.connect()
  await client.query(`select pg_advisory_lock(${HELD})`)
  await trouble(service, write, `perform pg_advisory_xact_lock(${HELD}); return new`)
  return {
    /** Resolves when the service waits for it. */
    asked: () =>
      until(write, async () => {
        const { rows } = await client.query(`select 1 from pg_locks where objid = ${HELD} and not granted`)
        return rows.length > 0
      }),
    letGo: () => client.end(),
  }
}

async function trouble(service: Service, write: Write, body: string): Promise<() => Promise<void>> {
  const { event, table, when } = WRITES[write]
  await run(service, `create function trouble() returns trigger language plpgsql as $$ begin ${body}; end $$`)
  await run(
    service,
    `create trigger trouble before ${event} on ${table} for each row when (${when}) execute function trouble()`,
  )
  return () => run(service, 'drop function trouble() cascade')
}

async function run(node: Service, statement: string): Promise<void> {
  troubleStore(storeOf(node))
  await sql.raw(statement).execute(storeOf(node))
}
