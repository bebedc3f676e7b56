import { join } from 'node:path'
import { sql } from 'kysely'
import type { StoredServer } from './servers.ts'
import type { Store, Subject } from './subject.ts'

const PROJECTS = 1_000
const AGENTS_OF_EACH = 10
const AGENT = 'hello'

/**
 * The same requests to one agent of a service with one project, and of one with a thousand. Both services were started
 * again after they were filled: start, memory and requests should differ by less than a tenth.
 */
export function projectSubjects(key: string): Subject[] {
  const headers = { Authorization: `Bearer ${key}` }
  const loads = {
    invoke: {
      method: 'POST',
      path: `/v1/agents/${AGENT}/invoke`,
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: JSON.stringify({ message: 'Will the ferry sail today?' }),
    },
    'list agents': { method: 'GET', path: '/v1/agents', headers },
    'list invocations': { method: 'GET', path: '/v1/invocations?limit=10', headers },
  }
  const one: Store = { name: '1 project', restarts: true, fill: async () => {} }
  const many: Store = { name: `${PROJECTS.toLocaleString('en')} projects`, restarts: true, fill }
  return (['embedded', 'PostgreSQL'] as const).flatMap((engine) =>
    Object.entries(loads).flatMap(([name, load]): Subject[] => {
      const subject = { group: 'projects', engine, load } as const
      const least = `${name}, ${one.name}`
      return [
        { ...subject, name: least, store: one },
        { ...subject, name: `${name}, ${many.name}`, store: many, grownFrom: least },
      ]
    }),
  )
}

/** The database itself writes the rows. One agent in ten has a memory policy, and one a rate limit, of its own. */
async function fill({ checkout, data, databaseUrl }: StoredServer): Promise<void> {
  const { openStorage }: typeof import('../src/storage/open-storage.ts') = await import(
    join(checkout, 'src/storage/open-storage.ts')
  )
  const storage = await openStorage({ data, database: { url: databaseUrl, poolSize: 1 } })
  const text = (expression: string) => `cast(${expression} as text)`
  const security = JSON.stringify({ rateLimit: { enabled: true, requests: 600, window: '1m' } })
  const statements = [
    `insert into projects (id, name, limits, created_at, updated_at)
      select 'prj_bench' || ${text('i')}, 'bench-' || ${text('i')}, '{}', i, i from ${numbers(PROJECTS)}`,
    `insert into agents (id, project_id, name, status, definition, own_memory, security, created_at, updated_at)
      select 'agt_bench' || ${text('i')}, 'prj_bench' || ${text(`i / ${AGENTS_OF_EACH}`)}, 'agent-' || ${text('i')},
        'running', hello.definition, case when i % 10 = 3 then 1 else 0 end,
        case when i % 10 = 7 then '${security}' end, i, i
      from ${numbers(PROJECTS * AGENTS_OF_EACH)} cross join (select definition from agents where name = '${AGENT}') hello`,
    `insert into webhooks (id, project_id, url, events, status, secret, secret_hint, earlier_secrets, created_at, updated_at)
      select 'whk_bench' || ${text('i')}, 'prj_bench' || ${text('i')}, 'https://receiver.example', '["agent.completed"]',
        'enabled', 'sealed', 'hint', '[]', i, i from ${numbers(PROJECTS)}`,
  ]
  try {
    await storage.transaction(async (db) => {
      for (const statement of statements) await sql.raw(statement).execute(db)
    })
    if (storage.engine === 'postgres') await sql`vacuum analyze`.execute(storage.db)
  } finally {
    await storage.close()
  }
}

function numbers(count: number): string {
  return `(with recursive counted(i) as (
    select cast(0 as bigint) union all select i + 1 from counted where i < ${count - 1}
  ) select i from counted) as numbers`
}
