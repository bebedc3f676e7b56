import assert from 'node:assert/strict'
import { copyFileSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { importProject } from '../../src/transfer/import-project.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { partsOf, storeOf } from '../support/inside.ts'
import { alterStore } from '../support/invariants/watch-invariants.ts'
import { inProject, onBothEngines, type Service, startService } from '../support/service/service.ts'
import { uploaded } from '../support/slices/files.ts'
import {
  exported,
  forge,
  forgeRows,
  imported,
  type Line,
  onStore,
  ownKeys,
  recipientOf,
} from '../support/slices/transfers.ts'

onBothEngines('importing a malicious file', (service) => {
  let source: Service
  let shell: Shell
  let file: string
  let others: Record<string, string>
  const victim = () => inProject(service(), 'victim')
  before(async () => {
    source = await startService('sqlite')
    shell = newShell()
    file = join(shell.folder, 'shop.moorage')
    await source.call('POST', '/v1/projects', { body: { name: 'shop' } })
    await fill(inProject(source, 'shop'))
    const recipient = await recipientOf(shell, service())
    await exported(shell, source, '--project', 'shop', '--with', 'all', '--seal-to', recipient, '--to', file)
    await service().call('POST', '/v1/projects', { body: { name: 'victim' } })
    others = await fill(victim())
  })
  after(async () => {
    shell.remove()
    await source.stop()
  })

  const refused = async (path: string, why: RegExp) => {
    await assert.rejects(
      importProject(partsOf(service()), { path, as: 'harm' }, () => {}),
      why,
    )
    const projects = await storeOf(service()).selectFrom('projects').select('name').orderBy('name').execute()
    return projects.map(({ name }) => name)
  }
  const unseen = async (path: string, why: RegExp) => {
    assert.deepEqual(await refused(path, why), ['default', 'victim'], 'nothing became visible')
  }

  test('damaged, truncated and foreign files are refused before anything is visible', async () => {
    const whole = readFileSync(file)
    const at = join(shell.folder, 'damaged')
    for (const [why, harm] of [
      [/its end is missing/, () => truncateSync(at, whole.length - 1)],
      [/its end is missing/, () => truncateSync(at, whole.lastIndexOf('\n', whole.length - 2) + 1)],
      [/The file is damaged or was changed/, () => truncateSync(at, Math.floor(whole.length / 2))],
      [/The file is damaged or was changed/, () => writeFileSync(at, flipped(whole))],
      [/it continues after its last line/, () => writeFileSync(at, Buffer.concat([whole, Buffer.from('{}\n')]))],
      [/not a file from `moorage export`/, () => writeFileSync(at, 'PK\u0003\u0004\n')],
      [/it is empty|its end is missing/, () => writeFileSync(at, '')],
      [
        /format 2.*import it with a newer version/,
        () => forge(file, at, (lines) => [{ ...lines[0], moorage_export: 2 }, ...lines.slice(1)]),
      ],
      [
        /the column agents.next.*doesn't know/,
        () =>
          forge(file, at, (lines) =>
            lines.map((line) => (line.table === 'agents' ? { ...line, columns: [...line.columns, 'next'] } : line)),
          ),
      ],
      [
        /the table wishes.*doesn't know/,
        () =>
          forge(file, at, (lines) =>
            lines.map((line) => (line.table === 'agents' ? { ...line, table: 'wishes' } : line)),
          ),
      ],
      [
        /the table audit_log.*doesn't know/,
        () =>
          forge(file, at, (lines) =>
            lines.map((line) => (line.table === 'agents' ? { ...line, table: 'audit_log' } : line)),
          ),
      ],
    ] as const) {
      writeFileSync(at, whole)
      harm()
      await unseen(at, why)
    }
  })

  test('rows that no operation could have created are refused before anything is visible', async () => {
    const at = join(shell.folder, 'wrong')
    const wrong: [string, (row: Line) => Line, RegExp][] = [
      ['keys', (row) => ({ ...row, permissions: '["read","root"]' }), /permissions/],
      ['keys', (row) => ({ ...row, agent_id: others['agent'] }), /agent_id names none of the agents in the file/],
      ['keys', (row) => ({ ...row, hash: 'x' }), /hash/],
      ['files', (row) => ({ ...row, name: '../../etc/passwd' }), /name/],
      ['files', (row) => ({ ...row, media_type: 'text/html\r\nSet-Cookie: a=b' }), /media_type/],
      ['files', (row) => ({ ...row, size: 2 ** 40 }), /the file has other bytes/],
      ['agents', (row) => ({ ...row, name: 'a\nb' }), /name/],
      ['agents', (row) => ({ ...row, id: 'agt_1' }), /id is not an ID/],
      ['agents', (row) => ({ ...row, definition: '{"limits":{"timeout_ms":1e12}}' }), /definition/],
      ['agents', (row) => ({ ...row, calls: '[["agt_x","production"]]' }), /definition does not fit/],
      ['agents', (row) => ({ ...row, created_at: 9e15 }), /created_at is not a time/],
      ['schedules', (row) => ({ ...row, next_at: -6e13 }), /next_at is not a time/],
      ['agents', (row) => ({ ...row, own_memory: 2 }), /own_memory is not 0 or 1/],
      ['agents', (row) => ({ ...row, security: '{' }), /security is not JSON/],
      ['schedules', (row) => ({ ...row, every: '1ms', cron: null }), /every/],
      ['schedules', (row) => ({ ...row, agent_id: others['agent'] }), /agent_id names none/],
      ['webhooks', (row) => ({ ...row, events: '["agent.hacked"]' }), /events/],
      ['budgets', (row) => ({ ...row, scope_type: 'service' }), /scope_type/],
      ['budget_counters', (row) => ({ ...row, used: -1 }), /used/],
      ['budget_counters', (row) => ({ ...row, budget_id: others['budget'] }), /budget_id names none/],
      ['memories', (row) => ({ ...row, agent_seq: others['agent'] }), /agent_seq names none/],
      ['memories', (row) => ({ ...row, terms: 'rope _turna1x' }), /terms has words that no text has/],
      ['memories', (row) => ({ ...row, terms: "rope-'_turna1x" }), /terms has words that no text has/],
      ['memories', (row) => ({ ...row, content: 'a\0b' }), /U\+0000/],
      [
        'memories',
        (row) => ({ ...row, metadata: '{"a":"\\u0000"}' }),
        /metadata has text that can't be stored in JSON/,
      ],
      ['memories', (row) => ({ ...row, metadata: '{"\\ud800":1}' }), /metadata has text that can't be stored in JSON/],
      ['memories', (row) => ({ ...row, metadata: '['.repeat(65) + ']'.repeat(65) }), /too many lists/],
      ['memories', (row) => ({ ...row, terms: 'x'.repeat(101) }), /terms has words that no text has/],
      ['invocations', (row) => ({ ...row, status: 'running' }), /status/],
      ['feedback', (row) => ({ ...row, score_millionths: 1_000_001 }), /score_millionths/],
      ['feedback', (row) => ({ ...row, comment: 'x'.repeat(5_000) }), /comment/],
      ['feedback', (row) => ({ ...row, key: 'a\nb' }), /key/],
      [
        'invocations',
        (row) => ({ ...row, cost_nano: 2 ** 53 }),
        /cost_nano is not a whole number|cost_nano is too large/,
      ],
      ['ledger', (row) => ({ ...row, status: 'reserved' }), /status/],
      ['ledger', (row) => ({ ...row, cost_nano: 2 ** 51 }), /cost_nano is too large/],
      ['versions', (row) => ({ ...row, agent_id: others['agent'] }), /agent_id names none/],
      ['deployments', (row) => ({ ...row, version: 'v9' }), /version is not in the file/],
      ['secrets', (row) => ({ ...row, value: 'AAAA' }), /damaged|was changed/],
      ['webhooks', (row) => ({ ...row, secret: row.secret.slice(0, -2) }), /was changed/],
    ]
    for (const [table, change, why] of wrong) {
      forgeRows(file, at, table, (rows) => rows.map((row) => (row.blob || row.bytes ? row : change(row))))
      await unseen(at, why)
    }
    // A sealed value belongs to its row.
    forgeRows(file, at, 'secrets', ([first, second, ...rest]) => [
      { ...first, value: second.value },
      { ...second, value: first.value },
      ...rest,
    ])
    await unseen(at, /was changed, or was sealed for another service/)
    forgeRows(file, at, 'keys', (rows) => rows.map((row) => ({ ...row, project_id: null })))
    forge(at, at, (lines) =>
      lines.map((line) => (line.table === 'keys' ? { ...line, columns: [...line.columns, 'project_id'] } : line)),
    )
    await unseen(at, /keys.project_id/)
    forge(file, at, (lines) =>
      lines.map((line) =>
        line.table === 'keys'
          ? { ...line, columns: line.columns.map((name: string) => (name === 'role' ? 'role_source' : name)) }
          : line,
      ),
    )
    await unseen(at, /keys.role_source/)
  })

  test('IDs and keys that already exist are refused before anything is visible', async () => {
    const at = join(shell.folder, 'known')
    const db = storeOf(service())
    const known = await db
      .selectFrom('keys')
      .select(['id', 'hash'])
      .where('project_id', 'is', null)
      .executeTakeFirstOrThrow()
    forgeRows(file, at, 'keys', (rows) => rows.map((row) => ({ ...row, hash: known.hash })))
    await unseen(at, /already has one of the keys/)
    forgeRows(file, at, 'webhooks', (rows) => rows.map((row) => ({ ...row, id: others['webhook'] })))
    await unseen(at, /damaged|was changed|already has/)
  })

  test('rows that refer to another project stop the import; that project is unchanged, and the new one stays paused', async () => {
    const untouched = await look()
    const at = join(shell.folder, 'reach')
    const reaches: [string, (row: Line) => Line, RegExp][] = [
      ['schedule_files', (row) => ({ ...row, file_id: others['file'] }), /names files of another project/],
      [
        'invocations',
        (row) => ({ ...row, parent_request_id: others['run'], call_key: 'call_1' }),
        /names runs of another project/,
      ],
      ['memories', (row) => ({ ...row, id: others['memory'] }), /exist already/],
      ['memories', (row) => ({ ...row, superseded_by: others['memory'] }), /names memories of another project/],
      ['ledger', (row) => ({ ...row, request_id: others['run'] }), /names runs of another project/],
      ['ledger', (row) => ({ ...row, agent_id: others['agent'] }), /names agents of another project/],
      ['logs', (row) => ({ ...row, request_id: others['run'] }), /names runs of another project/],
      ['feedback', (row) => ({ ...row, request_id: others['run'] }), /feedback in the file names an invocation that/],
      ['feedback', (row) => ({ ...row, request_id: 'req_00000000000000000000000000' }), /names an invocation that/],
      ['files', (row) => ({ ...row, request_id: others['run'] }), /names runs of another project/],
    ]
    for (const [table, change, why] of reaches) {
      forgeRows(file, at, table, (rows) => {
        const first = rows.findIndex((row) => row.blob === undefined && row.bytes === undefined)
        return rows.map((row, i) => (i === first ? change(row) : row))
      })
      assert.ok((await refused(at, why)).includes('harm'))
      const harm = inProject(service(), 'harm')
      assert.equal((await harm.call('GET', '/v1/pause')).body.data.paused, true)
      assert.deepEqual(await ownKeys(harm), [])
      await remove('harm')
    }
    assert.deepEqual(await look(), untouched)
  })

  test('a file that is replaced after it was checked is refused before its keys work', async () => {
    const [at, other] = [join(shell.folder, 'exchanged'), join(shell.folder, 'other')]
    copyFileSync(file, at)
    forgeRows(file, other, 'keys', (rows) => rows.map((row) => ({ ...row, agent_id: others['agent'] })))
    const imports = importProject(partsOf(service()), { path: at, as: 'harm' }, (phase, table) => {
      if (phase === 'checking' && table === 'key_factors') copyFileSync(other, at)
    })
    await assert.rejects(imports, /agent_id names none of the agents in the file/)
    assert.deepEqual(await ownKeys(inProject(service(), 'harm')), [])
    await remove('harm')
  })

  test("prices and providers in the file become the project's own, never the operator's", async () => {
    const { project } = await imported(shell, service(), file, '--as', 'paid')
    const db = storeOf(service())
    const prices = await db.selectFrom('prices').select('set_by').where('project_id', '=', project.id).execute()
    const providers = await db.selectFrom('providers').select('paid_by').where('project_id', '=', project.id).execute()
    assert.deepEqual([prices, providers], [[{ set_by: 'project' }], [{ paid_by: 'project' }]])
    const keys = await db.selectFrom('keys').selectAll().where('project_id', '=', project.id).execute()
    assert.ok(keys.every(({ person_id, role_source }) => person_id === null && role_source === null))
    await remove('paid')
  })

  test('secrets that were sealed for another service are refused, or left out', async () => {
    const other = join(shell.folder, 'other.moorage')
    const recipient = await recipientOf(shell, source)
    await exported(shell, source, '--project', 'shop', '--seal-to', recipient, '--to', other)
    await unseen(other, /sealed for another service/)
    const { without_secrets } = await imported(shell, service(), other, '--as', 'bare', '--skip-secrets')
    assert.deepEqual(without_secrets, [
      { table: 'providers', rows: 1 },
      { table: 'secrets', rows: 2 },
    ])
    const typo = recipient.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    const args = ['export', '--project', 'shop', '--to', join(shell.folder, 'typo'), '--seal-to', typo]
    const { code, stderr } = await onStore(shell, source, ...args)
    assert.equal(code, 2)
    assert.match(stderr, /--seal-to is not a recipient/)
    assert.equal(readFileSync(file, 'utf8').includes('hush-hush'), false)
    assert.equal(readFileSync(other, 'utf8').includes('hush-hush'), false)
    await remove('bare')
  })

  /** Everything that another project has. */
  async function look() {
    const rows = await exported(shell, service(), '--project', 'victim', '--with', 'receipts,logs,usage')
    return rows.tables
  }

  async function remove(name: string) {
    assert.equal((await service().call('DELETE', `/v1/projects/${name}?name=${name}`)).status, 200)
    const db = storeOf(service())
    const { id } = await db.selectFrom('projects').select('id').where('name', '=', 'victim').executeTakeFirstOrThrow()
    // The background would do it in a while.
    alterStore(db)
    for (const table of ['memories', 'invocations', 'logs', 'approvals'] as const) {
      const ofVictim = db.selectFrom('agents').select('seq').where('project_id', '=', id)
      await db.deleteFrom(table).where('agent_seq', 'not in', ofVictim).execute()
    }
    for (const table of ['ledger', 'usage_sums', 'files'] as const)
      await db.deleteFrom(table).where('project_id', '<>', id).execute()
  }
})

async function fill(service: Service): Promise<Record<string, string>> {
  const send = async (method: string, path: string, body?: object) => {
    const reply = await service.call(method, path, body === undefined ? {} : { body })
    assert.ok(reply.status < 300, `${method} ${path}: ${reply.text}`)
    return reply.body.data
  }
  const { id: agent } = await send('POST', '/v1/agents', { name: 'clerk', model: 'builtin/echo' })
  await send('POST', '/v1/agents/clerk/deployments', { environment: 'production', version: 'v1' })
  await send('PUT', '/v1/providers/own', { base_url: 'https://models.example.com/v1', api_key: 'hush-hush' })
  await send('PUT', '/v1/prices/own/big', { input: 1, output: 2 })
  await send('PUT', '/v1/secrets/FIRST', { value: 'hush-hush-1', hosts: ['a.example.com'] })
  await send('PUT', '/v1/secrets/SECOND', { value: 'hush-hush-2', hosts: ['b.example.com'] })
  const { id: webhook } = await send('POST', '/v1/webhooks', {
    url: 'https://example.com/hook',
    events: ['agent.failed'],
  })
  await send('POST', '/v1/keys', { name: 'own', role: 'admin', all_projects: false })
  const limit = { runs: 1_000 }
  const { id: budget } = await send('POST', '/v1/budgets', {
    name: 'all',
    scope: { type: 'project' },
    limit,
    per: 'ever',
  })
  const file = await uploaded(service, `of ${service.project}`, { type: 'text/plain', query: '?name=a.txt' })
  await send('POST', '/v1/agents/clerk/schedules', { every: '1h', message: 'Look', attachments: [{ file_id: file }] })
  const context = { user_id: 'ada', session_id: 'one' }
  const { request_id: run } = await send('POST', '/v1/agents/clerk/invoke', { message: 'Hello', context })
  await send('PUT', `/v1/agents/clerk/invocations/${run}/feedback`, { score: 0.5, comment: 'Fine' })
  const { items } = await send('POST', '/v1/agents/clerk/memory', {
    items: [{ content: 'A rope', kind: 'note', context }],
  })
  return { agent, webhook, budget, file, run, memory: items?.[0]?.id ?? '' }
}

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  const at = copy.indexOf('clerk')
  copy[at] = 'k'.charCodeAt(0)
  return copy
}
