import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { recount as recountMemory } from '../../src/memory/warm/scope-counts.ts'
import { operations } from '../../src/operations.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { storageOf, storeOf } from '../support/inside.ts'
import { alterStore } from '../support/invariants/watch-invariants.ts'
import { until } from '../support/running/until.ts'
import { onEveryEngine, type Service } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'
import { createWebhook } from '../support/slices/webhooks.ts'
import { idInSql } from '../support/stores/id-in-sql.ts'

/** Rows of each long table; a page reads far fewer. */
const ROWS = 12_000
const PIECE = 2_000
const FEW = 2_500
/** A search of logs looks through so many entries. */
const SEARCHED = 10_000

/** `as` is the role of the key that asks; with the one of a caller it sees only what it has started. */
type Case = { query: string; as?: 'caller'; uses: RegExp; reads?: number }

const SCHEDULE = 'sch_1'

/** Rows of a page are read by their ids or seqs, once these are found. */
const BY_IDS = /SEARCH invocations USING INDEX \w+_1 \(id=\?\)|Index Scan using invocations_pkey on invocations/

/** Of every list that grows without end: each way to ask for it, and the index that must serve it. */
const LONG: Record<string, Case[]> = {
  listInvocations: [
    { query: '', uses: /invocations_by_agent/ },
    { query: 'sort=created_at', uses: /invocations_by_agent/ },
    { query: 'offset=9000', uses: /invocations_by_agent/, reads: 10_000 },
    { query: 'status=completed', uses: /invocations_by_status/ },
    { query: 'status=failed', uses: /invocations_(by_status|not_completed)/ },
    { query: 'user_id=user-1', uses: /invocations_by_user/ },
    { query: 'user_id=user-1&status=failed', uses: /invocations_by_(user|status)/ },
    { query: 'session_id=session-1', uses: /invocations_by_session/ },
    { query: 'session_id=session-1&user_id=user-1', uses: /invocations_by_session/ },
    { query: 'session_id=session-1&status=completed', uses: /invocations_by_session/ },
    { query: 'user_id=busy&offset=1500', uses: /invocations_by_user/, reads: 6_000 },
    { query: `schedule_id=${SCHEDULE}`, uses: /invocations_by_schedule/ },
    { query: 'door=openai', uses: /invocations_by_(door|agent)/ },
    { query: 'door=api', uses: /invocations_by_(door|agent)/ },
    { query: '', as: 'caller', uses: /invocations_by_starter/ },
    { query: 'status=failed', as: 'caller', uses: /invocations_by_st(arter|atus)/ },
  ],
  listAllInvocations: [
    { query: '', uses: /invocations_by_agent/ },
    { query: 'sort=created_at', uses: /invocations_by_agent/ },
    { query: 'offset=9000', uses: /invocations_by_agent/, reads: 10_000 },
    { query: 'door=openai', uses: /invocations_by_door/ },
    { query: 'door=api', uses: /invocations_by_(door|agent)/ },
    { query: 'user_id=busy', uses: /invocations_by_user/ },
    { query: 'status=completed', uses: /invocations_by_(status|agent)/ },
    { query: 'status=failed', uses: /invocations_by_status/ },
    { query: 'user_id=user-1', uses: /invocations_by_user/ },
    { query: 'session_id=session-1&user_id=user-1', uses: /invocations_by_session/ },
    { query: 'parent_request_id=req_7', uses: /invocations_by_parent/ },
  ],
  getLogs: [
    { query: '', uses: /logs_by_agent/ },
    { query: 'sort=timestamp', uses: /logs_by_agent/ },
    { query: 'offset=9000', uses: /logs_by_agent/, reads: 10_000 },
    { query: 'level=error', uses: /logs_(not_info|by_agent)/, reads: 6_000 },
    { query: 'level=info,error', uses: /logs_by_agent/ },
    { query: 'start_time=2026-10-05T01:00:00Z&end_time=2026-10-25T02:00:00Z', uses: /logs_by_agent/ },
    { query: 'search=failed', uses: /logs_by_agent/, reads: SEARCHED },
    { query: 'search=failed&sort=timestamp', uses: /logs_by_agent/, reads: SEARCHED },
    { query: 'request_id=req_7', uses: /logs_of_request/ },
    { query: 'request_id=req_7&search=failed&level=error', uses: /logs_of_request/ },
  ],
  listDeliveries: [
    { query: '', uses: /deliveries_by_webhook/ },
    { query: 'status=delivered', uses: /deliveries_by_webhook/ },
    { query: 'offset=9000', uses: /deliveries_by_webhook/, reads: 10_000 },
    { query: 'event=agent.completed', uses: /deliveries_by_webhook/ },
  ],
  listApprovals: [
    { query: '', uses: /approvals_(pkey|1|by_agent)/ },
    { query: 'offset=9000', uses: /approvals_(pkey|1|by_agent)/, reads: 12_000 },
    { query: 'status=rejected', uses: /approvals_by_status/ },
    { query: 'agent_id=long', uses: /approvals_by_agent/ },
    { query: 'user_id=user-1', uses: /approvals_by_user/ },
    { query: 'session_id=session-1', uses: /approvals_by_session/ },
    { query: 'kind=tool', uses: /approvals_(pkey|1|by_agent)/ },
    { query: 'request_id=req_7', uses: /approvals_by_request/ },
    { query: '', as: 'caller', uses: /approvals_by_starter/ },
  ],
  listFeedback: [
    { query: '', uses: /feedback_by_agent/ },
    { query: 'offset=9000', uses: /feedback_by_agent/, reads: 12_000 },
    { query: 'agent_id=long', uses: /feedback_by_agent/ },
    { query: 'request_id=req_7', uses: /feedback_(of_run|by_agent)/ },
  ],
  listMemory: [
    { query: '', uses: /memories_(by_time|pkey)/ },
    // PostgreSQL knows that the user has enough memories to be found soon among those of the agent.
    { query: 'user_id=user-1', uses: /memories_(by_user|by_session|pkey)|using memories_by_time/ },
    { query: 'session_id=session-1', uses: /memories_(by_session|pkey)/ },
    { query: 'kind=fact', uses: /memories_(by_kind|pkey)/ },
  ],
  listFiles: [
    { query: '', uses: /files_by_project/ },
    { query: 'offset=9000', uses: /files_by_project/, reads: 12_000 },
    { query: 'user_id=user-1', uses: /files_by_user/ },
    { query: 'media_type=image/png', uses: /files_by_type/ },
    { query: '', as: 'caller', uses: /files_by_maker/ },
  ],
  listAuditLog: [
    { query: '', uses: /audit_log_(id_key|1)/ },
    { query: 'outcome=refused', uses: /audit_log_by_outcome/ },
    { query: 'agent_id=agt_1', uses: /audit_log_by_agent/ },
    { query: 'actor=key_1', uses: /audit_log_by_actor/ },
    { query: 'actor=busy&since=2026-10-05T01:00:00Z', uses: /audit_log_by_actor/ },
    { query: 'action=createKey', uses: /audit_log_by_action/ },
    { query: 'since=2026-10-05T01:00:00Z&until=2026-10-25T02:00:00Z', uses: /audit_log_(id_key|1)/ },
  ],
}

type ShownItem = { id?: string; request_id?: string; message?: string }

/** Lists in which each filter leaves more than a thousand rows. */
const FAR_PAGES: readonly [id: string, query: string, as?: 'caller'][] = [
  ['listInvocations', ''],
  ['listInvocations', 'user_id=busy'],
  ['listInvocations', 'session_id=busy'],
  ['listInvocations', `schedule_id=${SCHEDULE}`],
  ['listInvocations', 'door=openai'],
  ['listInvocations', 'door=api'],
  ['listInvocations', '', 'caller'],
  ['listAllInvocations', ''],
  ['listAllInvocations', 'status=completed'],
  ['listAllInvocations', 'user_id=busy'],
  ['listAllInvocations', 'door=openai'],
  ['listAllInvocations', 'door=api'],
  ['getLogs', ''],
  ['getLogs', 'start_time=2026-10-05T01:00:00Z&end_time=2026-10-25T02:00:00Z'],
  ['listDeliveries', 'event=agent.completed'],
  ['listApprovals', ''],
  ['listApprovals', 'user_id=busy'],
  ['listApprovals', '', 'caller'],
  ['listMemory', ''],
  ['listFiles', ''],
  ['listFiles', 'user_id=busy'],
  ['listFiles', '', 'caller'],
  ['listAuditLog', 'actor=busy'],
  ['listAuditLog', 'since=2026-10-05T01:00:00Z&until=2026-10-25T02:00:00Z'],
]

/** Lists of what people make by hand, and of those that memory knows, which has counts and tests of its own. */
const OTHERS = [
  'getFeedback',
  'listAgents',
  'listOverview',
  'listDeployments',
  'listKeys',
  'listWebhooks',
  'listCallbacks',
  'listProjects',
  'listSecrets',
  'listProviders',
  'searchMemory',
  'listUsers',
  'listSessions',
  'listConsoleSessions',
  'listInvocable',
  'listSchedules',
  'listPeople',
  'listInvitations',
  'listPersonalKeys',
  'listPrices',
  'listBudgets',
  'listConnections',
  'listGrants',
  'listLinks',
  'listReplayCases',
  'listReplays',
  'listSets',
  'listTriggerDeliveries',
  'listTriggers',
]

describe('lists', () => {
  test('every list operation is listed in this file as short, or is read with an index', () => {
    const lists = operations.filter(({ answer }) => answer.list).map(({ id }) => id)
    assert.deepEqual(lists.toSorted(), [...Object.keys(LONG), ...OTHERS].toSorted())
  })
})

onEveryEngine('a list of many rows', (service) => {
  const params = { agent_id: '', webhook_id: '', other_id: '' }
  let caller = { id: '', secret: '' }

  before(async () => {
    await retentionRan(service())
    params.agent_id = await createAgent(service(), 'long')
    params.other_id = await createAgent(service(), 'other')
    params.webhook_id = (await createWebhook(service(), { url: 'https://example.com/hook', events: ['ping'] })).id
    caller = await createKey(service(), { role: 'caller' })
    alterStore(storeOf(service()))
    await fill(service(), { ...params, caller: caller.id })
  })

  for (const [id, cases] of Object.entries(LONG)) {
    for (const { query, as, uses, reads = FEW } of cases) {
      test(`${id} ${query} ${as ?? ''}`, async () => {
        const [table = ''] = /^[a-z]+(_log)?/.exec(uses.source) ?? []
        const seen = await statementsOf(service(), table, async () => {
          const reply = await service().call('GET', `${pathOf(id)}?${query}`, as && { key: caller.secret })
          assert.equal(reply.status, 200, reply.text)
          if (query === '') assert.ok(reply.body.pagination.total >= ROWS * (as ? 0.1 : 0.9), reply.text)
        })
        assert.ok(seen.length > 0)
        for (const statement of seen) {
          const { text, rows } = await planOf(service(), statement)
          // A total is counted by any index that has what it asks for.
          const isCount = /count\(/.test(statement.sql)
          // The receipts of a page are read by their ids, once these are found.
          // PostgreSQL goes by ids where it knows that it will soon have found enough.
          const isById = service().engine === 'postgres' && /_(pkey|id_key)/.test(text)
          const isOfPage = BY_IDS.test(text) && !/ limit /.test(statement.sql)
          if (!isOfPage && !isCount && !isById) assert.match(text, uses)
          assert.doesNotMatch(text, new RegExp(`SCAN ${table}(?! USING)\\b|Seq Scan on ${table}\\b`))
          assert.ok(rows <= (isCount ? 1.1 * ROWS : reads), `${rows} rows are read:\n${text}`)
        }
      })
    }
  }

  for (const [id, query, as] of FAR_PAGES) {
    test(`far pages of ${id} continue where near pages end, ${query} ${as ?? ''}`, async () => {
      const order = id === 'getLogs' ? 'timestamp' : 'created_at'
      for (const sort of [`-${order}`, order]) {
        const page = async (limit: number, offset: number) => {
          const path = `${pathOf(id)}?limit=${limit}&offset=${offset}&sort=${sort}${query && `&${query}`}`
          const { status, text, body } = await service().call('GET', path, as && { key: caller.secret })
          assert.equal(status, 200, text)
          const ids: string[] = body.data.map((row: ShownItem) => row.id ?? row.request_id ?? row.message)
          return { ids, total: Number(body.pagination.total) }
        }
        const [near, far] = await Promise.all([page(80, 960), page(20, 1020)])
        assert.equal(far.ids.length, 20)
        assert.deepEqual(far, { ids: near.ids.slice(60), total: near.total })
        assert.equal((await page(20, far.total - 10)).ids.length, 10)
        assert.deepEqual(await page(20, far.total + 10), { ids: [], total: far.total })
      }
    })
  }

  function pathOf(id: string): string {
    const path = operations.find((operation) => operation.id === id)?.path ?? ''
    return path.replaceAll(/\{(\w+)\}/g, (_, name: 'agent_id') => params[name])
  }

  test('400 for an order without an index, with what to do instead', async () => {
    const path = `/v1/agents/${params.agent_id}/invocations?sort=duration_ms`
    const { status, body } = await service().call('GET', path)
    assert.equal(status, 400)
    assert.deepEqual(fieldsOf(body), ['sort'])
    assert.equal((await service().call('GET', `${path}&status=failed`)).status, 200)
  })

  test('pages far down the list are complete while new runs are added', async () => {
    await fillLately(service(), params.agent_id)
    let isOver = false
    const invokeOn = async () => {
      while (!isOver) await invoke(service(), params.agent_id, {})
    }
    const runs = Promise.all([invokeOn(), invokeOn(), invokeOn(), invokeOn()])
    try {
      for (let i = 0; i < 25; i++) {
        const { status, text, body } = await service().call('GET', '/v1/invocations?limit=10&offset=1200')
        assert.equal(status, 200, text)
        assert.equal(body.data.length, 10)
      }
    } finally {
      isOver = true
      await runs
    }
  })

  test("a run stays in its user's list, whatever state it is in", async () => {
    for (let i = 0; i < 30; i++) {
      const user_id = `passing-${i}`
      await invoke(service(), params.agent_id, { context: { user_id } }, { Prefer: 'respond-async' })
      const { body } = await service().call('GET', `/v1/invocations?user_id=${user_id}`)
      assert.equal(body.data.length, 1, user_id)
      assert.equal(body.pagination.total, 1, user_id)
    }
  })
})

async function invoke(service: Service, agent: string, more: object, headers: Record<string, string> = {}) {
  const path = `/v1/agents/${agent}/invoke`
  const { status, text } = await service.call('POST', path, { body: { message: 'go', ...more }, headers })
  assert.ok(status === 200 || status === 202, text)
}

/** It looks through the same tables, and would remove what is old in them. It comes again in an hour. */
function retentionRan(node: Service): Promise<unknown> {
  return until('retention has run', async () => {
    const storage = storageOf(node)
    const { now } = node
    const jobs = await storage.db.selectFrom('jobs').selectAll().where('kind', 'in', ['retention', 'purge']).execute()
    return jobs.length > 0 && jobs.every(({ owner, run_at }) => owner === null && run_at > now())
  })
}

type Statement = { sql: string; values: unknown[] }

/** What nodes look for every few seconds, whatever clients ask for. */
const OF_NODES = /status"? = '(queued|running|waiting)'/

/** What the service asks of a table while `work` continues. */
async function statementsOf({ engine }: Service, table: string, work: () => Promise<void>): Promise<Statement[]> {
  const seen: Statement[] = []
  const target = engine === 'postgres' ? pg.Client.prototype : Worker.prototype
  const method = engine === 'postgres' ? 'query' : 'postMessage'
  const original = Reflect.get(target, method) as (...args: unknown[]) => unknown
  Reflect.set(target, method, function seeing(this: unknown, ...args: [AskedStatement?, unknown[]?]) {
    const statement = statementIn(args)
    const isAboutTable = new RegExp(`from "?(all_)?${table}\\b`).test(statement.sql)
    if (isAboutTable && !OF_NODES.test(statement.sql)) seen.push(statement)
    return original.apply(this, args)
  })
  try {
    await work()
  } finally {
    Reflect.set(target, method, original)
  }
  return seen
}

type AskedStatement = string | { sql?: string; text?: string; values?: unknown[] }

/** SQLite's threads are sent `sql`, PostgreSQL is asked by a text alone or by one with its values. */
function statementIn([asked = '', values = []]: [AskedStatement?, unknown[]?]): Statement {
  if (typeof asked === 'string') return { sql: asked, values }
  return { sql: asked.sql ?? asked.text ?? '', values: asked.values ?? [] }
}

/** How the engine runs it; PostgreSQL also tells how many rows the largest of its scans read. */
async function planOf(service: Service, statement: Statement): Promise<{ text: string; rows: number }> {
  const db = storeOf(service)
  if (service.engine === 'sqlite') {
    const found = await db
      .transaction()
      .execute((held) =>
        held.executeQuery<{ detail: string }>(
          CompiledQuery.raw(`explain query plan ${statement.sql}`, statement.values),
        ),
      )
    return { text: found.rows.map(({ detail }) => detail).join('\n'), rows: 0 }
  }
  const { rows } = await db.transaction().execute(async (held) => {
    // A table of a few thousand rows is read whole where one of millions would not be.
    await sql`set local enable_seqscan = off`.execute(held)
    return held.executeQuery<{ 'QUERY PLAN': string }>(
      CompiledQuery.raw(`explain (analyze, timing off) ${statement.sql}`, statement.values),
    )
  })
  const text = rows.map((row) => row['QUERY PLAN']).join('\n')
  const read = [...text.matchAll(/Scan.*actual rows=([\d.]+) loops=(\d+)/g)].map(
    ([, each, loops]) => Number(each) * Number(loops),
  )
  const removed = [...text.matchAll(/Rows Removed by \w+(?: \w+)*: (\d+)/g)].map(([, count]) => Number(count))
  return { text, rows: Math.max(0, ...read, ...removed) }
}

/** Invocations of the last seconds. */
async function fillLately(node: Service, agent_id: string): Promise<void> {
  const storage = storageOf(node)
  const { now } = node
  const time = `(${now() - 5_000} + i)`
  await storage.transaction(async (db) => {
    await sql
      .raw(`insert into invocations (id, agent_seq, status, attempt, background, environment, message, context, response, input_tokens,
        output_tokens, tokens_used, duration_ms, steps, created_by, created_at, started_at, finished_at)
        select ${idInSql(time)}, (select seq from agents where id = '${agent_id}'), 'completed', 1, 0, 'production', 'm', '{}', 'r', 1,
        1, 2, 1, '[]', 'key_1', ${time}, ${time}, ${time} from
        (with recursive n(i) as (select cast(0 as bigint) union all select i + 1 from n where i < 1999) select i from n) as n`)
      .execute(db)
  })
}

/** Rows over a month, written by the database itself. */
async function fill(
  service: Service,
  { agent_id, other_id, webhook_id, caller }: Record<'agent_id' | 'other_id' | 'webhook_id' | 'caller', string>,
): Promise<void> {
  const storage = storageOf(service)
  const agents = await storage.db.selectFrom('agents').select(['id', 'seq']).execute()
  const [long, other] = [agent_id, other_id].map((id) => agents.find((agent) => agent.id === id)?.seq)
  const seq = `case when i % 10 = 9 then ${other} else ${long} end`
  const start = Date.UTC(2026, 9, 1)
  const time = `(${start} + i * ${Math.floor((30 * 86_400_000) / ROWS)})`
  const status = `case when i % 50 = 7 then 'failed' else 'completed' end`
  const insertsOf = (rows: string) => [
    `insert into invocations (id, agent_seq, status, attempt, background, environment, message, context, user_id, session_id, response,
      input_tokens, output_tokens, tokens_used, duration_ms, steps, created_by, created_at, started_at, finished_at, door, schedule_id)
      select ${idInSql(time)}, ${seq}, ${status}, 1, 0, 'production', 'm', '{}', case i % 4 when 0 then 'busy' else 'user-' || (i % 100) end,
      case i % 5 when 3 then 'busy' else 'session-' || (i / 20) end, 'r', 1, 1, 2, i % 900, '[]',
      case i % 8 when 0 then '${caller}' else 'key_' || (i % 8) end, ${time}, ${time}, ${time},
      case i % 5 when 1 then 'openai' when 2 then 'schedule' else 'api' end, case i % 5 when 2 then '${SCHEDULE}' end from ${rows}`,
    `insert into logs (agent_seq, timestamp, level, request_id, message, metadata)
      select ${seq}, ${time}, case when i % 50 = 7 then 3 else 1 end, 'req_' || i, 'Invocation ' || i || ' completed', '{}' from ${rows}`,
    `insert into deliveries (id, webhook_id, event_id, event, status, tries, attempt_count, attempts, created_at)
      select ${idInSql(time, 'dlv')}, '${webhook_id}', 'evt_' || i, case when i % 9 = 0 then 'ping' else 'agent.completed' end,
      case when i % 50 = 7 then 'failed' else 'delivered' end, 1, 1, '[]', ${time} from ${rows}`,
    `insert into approvals (id, agent_seq, request_id, call_id, call_index, attempt, kind, tool, arguments, input_schema, status, user_id,
      session_id, started_by, created_at, expires_at) select ${idInSql(time, 'apr')}, ${seq}, 'req_' || i, 'call_1', 0, 1, 'tool', 't', '{}', '{}',
      case when i % 50 = 7 then 'rejected' else 'approved' end, case i % 4 when 0 then 'busy' else 'user-' || (i % 100) end,
      'session-' || (i / 20), case i % 8 when 0 then '${caller}' else 'key_1' end, ${time}, ${time} from ${rows}`,
    `insert into memories (id, agent_seq, kind, role, user_id, session_id, content, metadata, terms, length, created_at)
      select 'mem_' || (1000000 + i), ${seq}, case when i % 100 = 7 then 'fact' else 'turn' end, 'user', 'user-' || (i % 100),
      'session-' || (i / 20), 'm', '{}', 'm', 1, ${time} from ${rows}`,
    `insert into feedback (id, agent_seq, request_id, key, score_millionths, environment, started_by, created_by, created_at, updated_at)
      select ${idInSql(time, 'fbk')}, ${seq}, ${idInSql(time)}, '', 1000000, 'production', 'key_1', 'key_1', ${time}, ${time} from ${rows}`,
    `insert into files (id, project_id, blob_id, name, media_type, size, sha256, user_id, created_by, unclaimed, created_at)
      select ${idInSql(time, 'file')}, 'prj_default', 'blob_1', 'f', case when i % 50 = 7 then 'image/png' else 'text/plain' end, 1, 'x',
      case i % 4 when 0 then 'busy' else 'user-' || (i % 100) end, case i % 8 when 0 then '${caller}' else 'key_1' end, 0, ${time} from ${rows}`,
    `insert into audit_log (id, created_at, actor_kind, actor, action, project_id, agent_id, outcome, fields, times, request_id, seq)
      select ${idInSql(time, 'aud')}, ${time}, 'key', case i % 5 when 3 then 'busy' else 'key_' || (i % 100) end, case when i % 20 = 0 then 'createKey' else 'updateAgent' end,
      'prj_default', 'agt_' || (i % 100), case when i % 50 = 7 then 'refused' else 'success' end, '[]', 1, 'req_1', 1000000 + i from ${rows}`,
  ]
  const blob = `insert into blobs (id, project_id, state, kept_in, sha256, created_at)
    values ('blob_1', 'prj_default', 'kept', 'folder', 'x', ${start})`
  await storage.transaction(async (db) => {
    await sql.raw(blob).execute(db)
    // In pieces: a statement that takes long on a busy machine looks like a connection that is gone.
    for (let first = 0; first < ROWS; first += PIECE) {
      const rows = `(with recursive n(i) as (select cast(${first} as bigint) union all select i + 1 from n where i < ${first + PIECE - 1}) select i from n) as n`
      for (const insert of insertsOf(rows)) await sql.raw(insert).execute(db)
    }
    await recountMemory(db, 'mem_filled')
  })
  if (service.engine === 'postgres') await sql`analyze`.execute(storage.db)
}
