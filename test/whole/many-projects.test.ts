import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { storageOf, storeOf, wakeJobs } from '../support/inside.ts'
import { leastLongestPass } from '../support/running/longest-pass.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onEveryEngine, type Service } from '../support/service/service.ts'

const PROJECTS = 1_000
const AGENTS_OF_EACH = 10
const MOST_MS = 50
/** No client waits for these, and a shared CPU can take three times as long. Reading all agents at once took 427 ms. */
const MOST_OF_JOBS_MS = 150

onEveryEngine(`a service with ${PROJECTS} projects of ${AGENTS_OF_EACH} agents`, (service) => {
  let agent: string
  before(async () => {
    agent = await newAgent(service())
    await fill(service())
    await service().restart()
  })

  const requests: Record<string, () => Promise<unknown>> = {
    'an invocation': () => service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go' } }),
    'a list of agents': () => service().call('GET', '/v1/agents'),
    'a list of projects': () => service().call('GET', '/v1/projects?limit=100'),
    'a list of all invocations': () => service().call('GET', '/v1/invocations'),
    'a deployment, which webhooks may hear of': () =>
      service().call('POST', `/v1/agents/${agent}/deployments`, { body: { environment: 'production' } }),
    'a change, after which every list of agents is read again': async () => {
      const body = { description: 'changed' }
      assert.equal((await service().call('PATCH', `/v1/agents/${agent}`, { body })).status, 200)
      return service().call('GET', '/v1/agents')
    },
    'a token that an agent might accept': () => service().call('GET', '/v1/agents', { key: 'e30.e30.e30' }),
    'a page of another origin': () =>
      service().call('OPTIONS', '/v1/chat/completions', { headers: { Origin: 'https://page.example' } }),
    'the metrics of the service': () => service().call('GET', '/metrics'),
    'the state of the service': () => service().call('GET', '/v1/system'),
  }
  for (const [name, send] of Object.entries(requests)) {
    test(`${name} does not block the event loop`, async () => {
      await send()
      const ms = await leastLongestPass(send)
      assert.ok(ms < MOST_MS, `${ms} ms`)
    })
  }

  test('recurring work does not block the event loop', async () => {
    const ms = await leastLongestPass(async () => {
      service().advance(3_700_000)
      wakeJobs(service())
      await until('all have run', async () => {
        const db = storeOf(service())
        const due = await db.selectFrom('jobs').select('kind').where('run_at', '<=', service().now()).execute()
        const running = await db.selectFrom('jobs').select('kind').where('owner', 'is not', null).execute()
        return due.length + running.length === 0
      })
    })
    assert.ok(ms < MOST_OF_JOBS_MS, `${ms} ms`)
  })
})

/** The database itself writes the rows. Every agent has a memory policy, and one in ten a rate limit, of its own. */
async function fill(node: Service): Promise<void> {
  const storage = storageOf(node)
  const numbers = (count: number) => `(with recursive counted(i) as (
    select cast(0 as bigint) union all select i + 1 from counted where i < ${count - 1}
  ) select i from counted) as numbers`
  const text = (expression: string) => `cast(${expression} as text)`
  const security = JSON.stringify({ rateLimit: { enabled: true, requests: 600, window: '1m' } })
  await storage.transaction(async (db) => {
    for (const statement of [
      `insert into projects (id, name, limits, created_at, updated_at)
        select 'prj_many' || ${text('i')}, 'many-' || ${text('i')}, '{"retention_days": 30}', i, i from ${numbers(PROJECTS)}`,
      `insert into agents (id, project_id, name, status, definition, own_memory, security, created_at, updated_at)
        select 'agt_many' || ${text('i')}, 'prj_many' || ${text(`i / ${AGENTS_OF_EACH}`)}, 'agent-' || ${text('i')},
          'running', hello.definition, 1, case when i % 10 = 7 then '${security}' end, i, i
        from ${numbers(PROJECTS * AGENTS_OF_EACH)} cross join (select definition from agents where name = 'hello') hello`,
      `insert into webhooks (id, project_id, url, events, status, secret, secret_hint, earlier_secrets, created_at, updated_at)
        select 'whk_many' || ${text('i')}, 'prj_many' || ${text('i')}, 'https://receiver.example', '["*"]',
          'enabled', 'sealed', 'hint', '[]', i, i from ${numbers(PROJECTS)}`,
    ]) {
      await sql.raw(statement).execute(db)
    }
  })
  if (storage.engine === 'postgres') await sql`analyze`.execute(storage.db)
}
