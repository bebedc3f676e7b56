import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, test } from 'node:test'
import { sealEntries, verifyChain } from '../../src/audit/chain.ts'
import { asHost } from '../support/clients/mfa.ts'
import { keyringOf, partsOf, storageOf, storeOf } from '../support/inside.ts'
import { until, untilHolds } from '../support/running/until.ts'
import { onBothEngines, type Service } from '../support/service/service.ts'

const done = { outcome: 'success', project_id: 'prj_default' }

type Entry = Record<string, unknown> & { seq: number | null; hash: string; prev_hash: string; request_id: string }

const GENESIS = '0'.repeat(64)

async function list(service: Service, query = ''): Promise<Entry[]> {
  const { status, body, text } = await service.call('GET', `/v1/audit-log?limit=100${query}`)
  assert.equal(status, 200, text)
  return body.data
}

/** The entry of a request, once it has its place in the chain. */
function entryOf(service: Service, headers: Headers): Promise<Entry> {
  const id = headers.get('x-request-id')
  return until(`the audit entry of ${id}`, async () =>
    (await list(service)).find(({ request_id, seq }) => request_id === id && seq !== null),
  )
}

onBothEngines('audit log', (service) => {
  const db = () => storeOf(service())
  const verify = () => verifyChain({ db: db(), keyring: keyringOf(service()) })
  const newKey = async (body: Record<string, unknown>) =>
    (await service().call('POST', '/v1/keys', { body: { name: 'test', ...body } })).body.data
  const adminId = async () => (await service().call('GET', '/v1/keys/self')).body.data.id

  describe('entries for changes', () => {
    test('contain who, what, which object, which fields, and from where', async () => {
      const secretWords = 'nobody may read this in the log'
      const { body, headers } = await service().call('POST', '/v1/agents', {
        body: { name: 'audited', instructions: secretWords, metadata: { note: secretWords } },
      })
      const entry = await entryOf(service(), headers)
      const { id, seq, created_at, prev_hash, hash, ...rest } = entry
      assert.match(String(id), /^aud_[0-9A-Z]{26}$/)
      assert.ok(seq !== null && seq > 0)
      assert.match(String(created_at), /^\d{4}-\d\d-\d\dT.*Z$/)
      assert.match(hash, /^[0-9a-f]{64}$/)
      assert.match(prev_hash, /^[0-9a-f]{64}$/)
      assert.deepEqual(rest, {
        actor_kind: 'key',
        key_id: null,
        actor: await adminId(),
        actor_name: 'first admin key',
        action: 'createAgent',
        project_id: 'prj_default',
        agent_id: body.data.id,
        target: body.data.id,
        outcome: 'success',
        code: null,
        fields: ['name', 'instructions', 'metadata'],
        times: 1,
        request_id: headers.get('x-request-id'),
        address: '127.0.0.1',
      })
      const rows = await db().selectFrom('audit_log').selectAll().execute()
      assert.equal(JSON.stringify(rows).includes(secretWords), false)
    })

    test('of keys, deployments and security settings name the object', async () => {
      const agent = (await service().call('POST', '/v1/agents', { body: { name: 'touched' } })).body.data
      const steps = [
        ['POST', '/v1/keys', { name: 'k', agent_id: 'touched', role: 'viewer' }, 'createKey'],
        ['PATCH', '/v1/agents/touched', { security: { enforceHttps: false } }, 'updateAgent'],
        ['POST', '/v1/agents/touched/deployments', { environment: 'test', version: '1' }, 'createDeployment'],
      ] as const
      for (const [method, path, sent, action] of steps) {
        const { body, headers } = await service().call(method, path, { body: sent })
        const entry = await entryOf(service(), headers)
        assert.deepEqual(
          [entry.action, entry.agent_id, entry.target, entry.fields],
          [action, agent.id, body.data.id, Object.keys(sent)],
        )
      }
    })

    test('are not written for failed changes and repeated replies', async () => {
      await service().call('POST', '/v1/agents', { body: { name: 'once' } })
      const failed = await service().call('POST', '/v1/agents', { body: { name: 'once' } })
      assert.equal(failed.status, 409)
      const repeat = () =>
        service().call('POST', '/v1/agents', { body: { name: 'twice' }, headers: { 'Idempotency-Key': 'audit-1' } })
      const [first, second] = [await repeat(), await repeat()]
      assert.equal(second.headers.get('idempotent-replayed'), 'true')
      await entryOf(service(), first.headers)
      const ids = new Set((await list(service())).map(({ request_id }) => request_id))
      assert.equal(ids.has(failed.headers.get('x-request-id') as string), false)
      assert.equal(ids.has(second.headers.get('x-request-id') as string), false)
    })

    test('are not written for reading, searching and invoking, which have receipts', async () => {
      const replies = [
        await service().call('GET', '/v1/agents'),
        await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'hi' } }),
        await service().call('POST', '/v1/agents/hello/memory/search', { body: { query: 'hi' } }),
      ]
      const { headers } = await service().call('PATCH', '/v1/agents/hello', { body: { temperature: 1 } })
      await entryOf(service(), headers)
      const ids = new Set((await list(service())).map(({ request_id }) => request_id))
      for (const reply of replies) {
        assert.equal(reply.status, 200)
        assert.equal(ids.has(reply.headers.get('x-request-id') as string), false)
      }
    })

    test('are written before and after a change that takes several transactions', async () => {
      const { headers, status } = await service().call('DELETE', '/v1/agents/hello/memory')
      assert.equal(status, 200)
      const mine = await until('both entries', async () => {
        const all = await list(service(), '&action=clearMemory')
        const own = all.filter(({ request_id }) => request_id === headers.get('x-request-id'))
        return own.length === 2 ? own : undefined
      })
      assert.deepEqual(mine.map(({ outcome }) => outcome).toSorted(), ['started', 'success'])
    })

    test("are written for a user's export, an invocation's callback and a schedule run by hand", async () => {
      const schedule = await service().call('POST', '/v1/agents/hello/schedules', {
        body: { every: '1h', message: 'tick' },
      })
      const callback = { url: 'https://example.com/hook' }
      const headers = { Prefer: 'respond-async' }
      for (const [action, reply] of [
        ['exportUser', await service().call('GET', '/v1/users/ada/export')],
        [
          'invokeAgent',
          await service().call('POST', '/v1/agents/hello/invoke', { headers, body: { message: 'hi', callback } }),
        ],
        ['runSchedule', await service().call('POST', `/v1/agents/hello/schedules/${schedule.body.data.id}/run`)],
      ] as const) {
        assert.ok(reply.status < 300, reply.text)
        const mine = await until(`the entries of ${action}`, async () => {
          const all = await list(service(), `&action=${action}`)
          const own = all.filter(({ request_id }) => request_id === reply.headers.get('x-request-id'))
          return own.some(({ outcome }) => outcome === 'success') ? own : undefined
        })
        assert.equal(mine[0]?.address, '127.0.0.1')
      }
    })

    test('start with the first start and the key it created', async () => {
      const first = await until('its place', async () =>
        (await list(service(), '&action=firstStart')).find(({ seq }) => seq !== null),
      )
      assert.deepEqual(
        [first.actor_kind, first.target, first.outcome, first.seq],
        ['local', await adminId(), 'success', 1],
      )
    })

    test('made by the command line on the server have the actor "local"', async () => {
      const { body } = await asHost(service(), 'POST', '/v1/keys', { name: 'from the host', role: 'viewer' })
      const entry = await until('the entry', async () =>
        (await list(service(), '&action=createKey')).find(({ target }) => target === body.data.id),
      )
      assert.deepEqual([entry.actor_kind, entry.actor, entry.address], ['local', 'local', null])
    })
  })

  describe('entries for refused requests', () => {
    /** Refusals are counted by the minute: a test has one of its own. */
    const beginMinute = () => service().advance(60_000 - (service().now() % 60_000))

    test('401, 403 and 429 leave an entry with their code; the reply does not wait for it', async () => {
      const viewer = await newKey({ role: 'viewer' })
      const unknown = await service().call('GET', '/v1/agents', { key: 'wrong' })
      const forbidden = await service().call('DELETE', '/v1/agents/hello', { key: viewer.secret })
      assert.deepEqual([unknown.status, forbidden.status], [401, 403])
      const {
        id: _,
        seq: __,
        created_at: ___,
        prev_hash: ____,
        hash: _____,
        ...first
      } = await entryOf(service(), unknown.headers)
      assert.deepEqual(first, {
        actor_kind: null,
        key_id: null,
        actor: null,
        actor_name: null,
        action: 'listAgents',
        project_id: 'prj_default',
        agent_id: null,
        target: null,
        outcome: 'refused',
        code: 'unauthorized',
        fields: [],
        times: 1,
        request_id: unknown.headers.get('x-request-id'),
        address: '127.0.0.1',
      })
      const second = await entryOf(service(), forbidden.headers)
      assert.deepEqual(
        [second.actor, second.action, second.code, second.outcome],
        [viewer.id, 'deleteAgent', 'forbidden', 'refused'],
      )
    })

    test('a flood becomes two entries a minute: the first at once, the others as a number', async () => {
      beginMinute()
      const since = new Date(service().now()).toISOString()
      const unknown = `&outcome=refused&since=${encodeURIComponent(since)}`
      const flood = Array.from({ length: 200 }, (_, i) =>
        service().call('GET', `/v1/agents/a${i}`, { key: `wrong-${i}` }),
      )
      await Promise.all(flood)
      const kinds = async () =>
        (await list(service(), unknown))
          .map(({ code, times }) => [code, times] as [string, number])
          .toSorted(([a, x], [b, y]) => a.localeCompare(b) || x - y)
      const before = await untilHolds(async () => {
        const found = await kinds()
        assert.deepEqual(found, [
          ['rate_limited', 1],
          ['unauthorized', 1],
        ])
        return found
      })
      assert.equal(before.length, 2)
      service().advance(60_000)
      await service().call('GET', '/v1/agents', { key: 'next-minute' })
      await untilHolds(async () => {
        const found = await kinds()
        const told = found.reduce((sum, [, times]) => sum + times, 0)
        assert.deepEqual([found.length, told], [5, 201])
      })
    })

    test('counted refusals are not lost when the service stops', async () => {
      beginMinute()
      for (let i = 0; i < 3; i++) await service().call('GET', '/v1/keys', { key: 'before the stop' })
      const counted = async () => (await list(service(), '&outcome=refused')).filter(({ times }) => Number(times) === 2)
      const before = (await counted()).length
      await service().restart()
      assert.equal((await counted()).length, before + 1)
    })
  })

  describe('GET /v1/audit-log', () => {
    test('filters by action, actor, agent, outcome and time', async () => {
      const { body, headers } = await service().call('POST', '/v1/agents', { body: { name: 'filtered' } })
      const { created_at } = await entryOf(service(), headers)
      const agent = body.data.id
      const found = async (query: string) => (await list(service(), `&agent_id=${agent}${query}`)).length
      assert.equal(await found(''), 1)
      assert.equal(await found('&action=createAgent'), 1)
      assert.equal(await found('&action=deleteAgent'), 0)
      assert.equal(await found(`&actor=${await adminId()}`), 1)
      assert.equal(await found('&actor=key_other'), 0)
      assert.equal(await found('&outcome=refused'), 0)
      assert.equal(await found(`&since=${created_at}`), 1)
      assert.equal(await found(`&until=${created_at}`), 0)
      const wrong = await service().call('GET', '/v1/audit-log?outcome=maybe')
      assert.equal(wrong.status, 400)
    })

    test('403 without manage; a scoped key sees its agent only', async () => {
      const developer = await newKey({ role: 'developer' })
      assert.equal((await service().call('GET', '/v1/audit-log', { key: developer.secret })).status, 403)
      const scoped = await newKey({ agent_id: 'hello', role: 'admin' })
      const { body } = await service().call('GET', '/v1/audit-log?limit=100', { key: scoped.secret })
      const agents = new Set(body.data.map((entry: Entry) => entry.agent_id))
      assert.deepEqual([...agents], [scoped.agent_id])
      const other = await service().call('GET', '/v1/audit-log?agent_id=agt_other', { key: scoped.secret })
      assert.equal(other.status, 403)
      assert.equal((await service().call('GET', '/v1/audit-log/head', { key: scoped.secret })).status, 403)
    })
  })

  describe("the audit log's chain of hashes", () => {
    const sealed = async () => {
      await sealEntries(storageOf(service()))
      return db().selectFrom('audit_log').selectAll().where('seq', 'is not', null).orderBy('seq').execute()
    }

    const readChain = async () => {
      const entries: Entry[] = []
      for (let offset = 0; ; offset += 100) {
        const { body } = await service().call('GET', `/v1/audit-log?limit=100&offset=${offset}&sort=created_at`)
        entries.push(...body.data)
        if (!body.pagination.has_more) break
      }
      return entries.filter(({ seq }) => seq !== null).toSorted((a, b) => Number(a.seq) - Number(b.seq))
    }

    test('can be computed from what the API returns', async () => {
      // Refusals of the previous test might be written late.
      const { chain, head } = await until('nothing is added while it is read', async () => {
        await sealed()
        const read = await readChain()
        const { body } = await service().call('GET', '/v1/audit-log/head')
        return body.data.seq === read.length ? { chain: read, head: body.data } : undefined
      })
      let last = GENESIS
      for (const [index, entry] of chain.entries()) {
        const { seq, prev_hash, id, created_at, actor_kind, actor, key_id, action, project_id, agent_id, target } =
          entry
        const { outcome, code, fields, times, request_id, address } = entry
        const time = Date.parse(String(created_at))
        const who = [actor_kind, actor, key_id, action, project_id, agent_id, target, outcome, code]
        const text = JSON.stringify([seq, prev_hash, id, time, ...who, fields, times, request_id, address])
        assert.equal(seq, index + 1)
        assert.equal(prev_hash, last)
        assert.equal(entry.hash, createHash('sha256').update(text).digest('hex'))
        last = entry.hash
      }
      assert.deepEqual(head, { seq: chain.length, hash: last })
    })

    test('stays intact with many simultaneous writes on several nodes', async () => {
      const other = service().engine === 'postgres' ? await service().beside() : undefined
      const nodes = other ? [service(), other] : [service()]
      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          (nodes[i % nodes.length] as Service).call('POST', '/v1/agents', { body: { name: `many-${i}` } }),
        ),
      )
      for (const { headers } of replies) await entryOf(service(), headers)
      await other?.stop()
      const verdict = await verify()
      assert.equal(verdict.ok, true, JSON.stringify(verdict))
    })

    test('stays intact with many simultaneous sealers', async () => {
      const storage = storageOf(service())
      const { now } = service()
      const { newId } = partsOf(service())
      const write = async (i: number) => {
        const row = { id: newId('aud', now()), created_at: now(), action: 'crowded', ...done }
        await db()
          .insertInto('audit_log')
          .values({ ...row, fields: '[]', times: 1, request_id: `req_${i}` })
          .execute()
        await sealEntries(storage)
      }
      await Promise.all(Array.from({ length: 60 }, (_, i) => write(i)))
      const waiting = await db().selectFrom('audit_log').select('id').where('seq', 'is', null).execute()
      assert.deepEqual(waiting, [])
      assert.equal((await verify()).ok, true)
    })

    test('includes an entry left unlinked by a crash after the next start', async () => {
      const storage = storageOf(service())
      const { now } = service()
      const { newId } = partsOf(service())
      const row = { id: newId('aud', now()), created_at: now(), action: 'left', ...done }
      await storage.db
        .insertInto('audit_log')
        .values({ ...row, fields: '[]', times: 1, request_id: 'req_left' })
        .execute()
      await service().restart()
      await until('its place', async () => (await list(service(), '&action=left')).find(({ seq }) => seq !== null))
    })
  })
})
