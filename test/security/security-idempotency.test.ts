import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RenderedReply } from '../../src/http/dialects/dialect.ts'
import { Idempotency } from '../../src/http/pipeline/idempotency/idempotency.ts'
import { head, sendRaw } from '../support/clients/raw.ts'
import { assertRefusal, fieldsOf } from '../support/clients/refusal.ts'
import { partsOf, storeOf } from '../support/inside.ts'
import { alterStore } from '../support/invariants/watch-invariants.ts'
import { meanwhile } from '../support/running/meanwhile.ts'
import { until } from '../support/running/until.ts'
import { betweenNodes, onEveryEngine, type Reply, type Service } from '../support/service/service.ts'
import { createKey, later } from '../support/slices/resources.ts'

const DAY = 24 * 3_600_000

onEveryEngine('idempotency', (service, engine) => {
  const post = (path: string, key: string, body: unknown, more: { key?: string } = {}) =>
    service().call('POST', path, { body, headers: { 'Idempotency-Key': key }, ...more })
  const createAgent = (key: string, body: object) => post('/v1/agents', key, body)
  const isReplay = ({ headers }: Reply) => headers.get('idempotent-replayed') === 'true'

  describe('repeating a request with its Idempotency-Key', () => {
    test('returns the same status, body and Location, and changes nothing', async () => {
      const first = await createAgent('again', { name: 'once', temperature: 1 })
      const second = await createAgent('again', { name: 'once', temperature: 1 })
      assert.equal(first.status, 201)
      assert.equal(second.status, 201)
      assert.deepEqual(second.body, first.body)
      assert.equal(second.headers.get('location'), first.headers.get('location'))
      assert.deepEqual([isReplay(first), isReplay(second)], [false, true])
      assert.notEqual(second.headers.get('x-request-id'), first.headers.get('x-request-id'))
    })

    test('works whatever the order of fields and the spaces between them', async () => {
      await createAgent('reordered', { name: 'reordered', limits: { max_steps: 2, timeout_ms: 1000 } })
      const text = '{ "limits": { "timeout_ms": 1000, "max_steps": 2 },\n "name": "reordered" }'
      assert.ok(isReplay(await post('/v1/agents', 'reordered', text)))
    })

    test('50 times at once executes it once, and all get the same reply', async () => {
      const replies = await Promise.all(
        Array.from({ length: 50 }, () => post('/v1/keys', 'fifty', { name: 'one of fifty', role: 'viewer' })),
      )
      assert.deepEqual([...new Set(replies.map(({ status }) => status))], [201])
      assert.equal(new Set(replies.map(({ body }) => body.data.secret)).size, 1)
      assert.equal(replies.filter((reply) => !isReplay(reply)).length, 1)
      const { body } = await service().call('GET', '/v1/keys?limit=100')
      assert.equal(body.data.filter(({ name }: { name: string }) => name === 'one of fifty').length, 1)
    })

    betweenNodes(engine)('on another node waits for the first request and returns its reply', async () => {
      const node = await service().beside()
      try {
        const body = { name: 'on-two-nodes' }
        const send = (to: Service) =>
          to.call('POST', '/v1/agents', { body, headers: { 'Idempotency-Key': 'two-nodes' } })
        // The table stays locked until the first is within its run; the second can then only wait for it.
        const first = meanwhile(service(), 'lock table agents in exclusive mode', () => send(service()))
        const second = until('the claim is there', () => isClaimed(service(), 'two-nodes')).then(() => send(node))
        const replies = [...(await first), await second]
        assert.deepEqual(
          replies.map(({ status }) => status),
          [201, 201],
        )
        assert.deepEqual(replies[0]?.body, replies[1]?.body)
        assert.deepEqual(replies.map(isReplay).toSorted(), [false, true])
      } finally {
        await node.stop()
      }
    })

    test('works after a restart', async () => {
      const first = await post('/v1/keys', 'restarted', { name: 'kept', role: 'viewer' })
      await service().restart()
      const second = await post('/v1/keys', 'restarted', { name: 'kept', role: 'viewer' })
      assert.ok(isReplay(second))
      assert.deepEqual(second.body, first.body)
    })

    test('works for 24 hours; after that it is a new request', async () => {
      const send = () => post('/v1/keys', 'a-day', { name: 'daily', role: 'viewer' })
      const first = await send()
      const almost = await later(service(), DAY - 10_000, send)
      assert.deepEqual(almost.body, first.body)
      const next = await later(service(), DAY, send)
      assert.equal(next.status, 201)
      assert.ok(!isReplay(next))
      assert.notEqual(next.body.data.id, first.body.data.id)
    })
  })

  describe('another request with the same Idempotency-Key: 422', () => {
    const others: Record<string, () => Promise<Reply>> = {
      'another body': () => createAgent('taken', { name: 'other-body' }),
      'one field more': () => createAgent('taken', { name: 'original', temperature: 0 }),
      'another path': () => post('/v1/keys', 'taken', { name: 'original', role: 'viewer' }),
      'another method': () =>
        service().call('PATCH', '/v1/agents/original', {
          body: { name: 'original' },
          headers: { 'Idempotency-Key': 'taken' },
        }),
    }
    for (const [name, send] of Object.entries(others)) {
      test(name, async () => {
        await createAgent('taken', { name: 'original' })
        assertRefusal(await send(), 422, 'idempotency_key_reused')
      })
    }

    test('is a new request for another API key', async () => {
      const { secret } = await createKey(service(), { role: 'admin' })
      const send = (key?: string) => post('/v1/keys', 'shared', { name: 'mine', role: 'viewer' }, key ? { key } : {})
      const [first, second] = [await send(), await send(secret)]
      assert.equal(second.status, 201)
      assert.ok(!isReplay(second))
      assert.notEqual(second.body.data.id, first.body.data.id)
    })
  })

  describe('a failed request frees its key', () => {
    test('400, then right', async () => {
      assert.equal((await createAgent('corrected', { name: 'WRONG' })).status, 400)
      assert.equal((await createAgent('corrected', { name: 'right' })).status, 201)
    })

    test('409, then free', async () => {
      await createAgent('in-the-way', { name: 'in-the-way' })
      assert.equal((await createAgent('patient', { name: 'in-the-way' })).status, 409)
      await service().call('DELETE', '/v1/agents/in-the-way')
      const reply = await createAgent('patient', { name: 'in-the-way' })
      assert.equal(reply.status, 201)
      assert.ok(!isReplay(reply))
    })
  })

  describe('the Idempotency-Key header', () => {
    const wrong = { 'of 256 characters': 'x'.repeat(256), empty: '', 'only quotes': '""', 'with a space': 'a b' }
    for (const [name, key] of Object.entries({ ...wrong, 'beyond ASCII': 'schl\u00fcssel' })) {
      test(`400 for one ${name}`, async () => {
        const { status, body } = await createAgent(key, { name: 'unkeyed' })
        assert.equal(status, 400)
        assert.deepEqual(fieldsOf(body), ['Idempotency-Key'])
      })
    }

    test('400 when it is sent twice', async () => {
      const headers = { Authorization: `Bearer ${service().admin}`, 'Content-Type': 'application/json' }
      const bytes = head('POST /v1/agents', { ...headers, 'Content-Length': '16', 'Idempotency-Key': 'one' })
      const twice = `${bytes.replace('\r\n\r\n', '\r\nIdempotency-Key: two\r\n\r\n')}{"name":"twice"}`
      const [reply] = await sendRaw(service().url, twice)
      assert.equal(reply?.status, 400)
      assert.deepEqual(fieldsOf(reply?.body), ['Idempotency-Key'])
    })

    test('can have 255 characters', async () => {
      assert.equal((await createAgent('x'.repeat(255), { name: 'longest' })).status, 201)
    })

    test('is the same with and without quotes', async () => {
      await createAgent('quoted', { name: 'quoted' })
      assert.ok(isReplay(await createAgent('"quoted"', { name: 'quoted' })))
    })
  })

  describe("a claim's lease", () => {
    const LEASE_MS = 150
    const REPLY: RenderedReply = { status: 200, headers: {}, body: '{}' }

    /** Leases end by this clock, which stands still unless a test moves it; they are renewed as real time passes. */
    let time = Date.now()
    const node = (waitMs = 10_000) =>
      new Idempotency({ ...partsOf(service()), now: () => time, leaseMs: LEASE_MS, waitMs })
    const noRun = () => assert.fail('no run waits')
    const request = (key: string) => ({
      request_id: 'req_1',
      scope: 'key_test',
      project_id: 'prj_default',
      key,
      fingerprint: 'same',
      secret: false,
    })

    /** A run that ends when told to; says whether its answer was kept. */
    const startRun = (on: Idempotency, key: string, body: string) => {
      const begun = Promise.withResolvers<void>()
      const told = Promise.withResolvers<void>()
      let kept: boolean | undefined
      const reply = on.once(
        request(key),
        async ({ complete }) => {
          begun.resolve()
          await told.promise
          kept = await complete({ ...REPLY, body })
          return { ...REPLY, body }
        },
        noRun,
      )
      return { begun: begun.promise, end: () => told.resolve(), reply, kept: () => kept }
    }

    test('belongs to one scope and key, even if another pair looks the same when joined', async () => {
      // Neither stores its reply.
      alterStore(storeOf(service()))
      const mine = node()
      const held = Promise.withResolvers<RenderedReply>()
      const begun = Promise.withResolvers<void>()
      const first = mine.once(
        { ...request('c'), scope: 'a b' },
        () => {
          begun.resolve()
          return held.promise
        },
        noRun,
      )
      await begun.promise
      const second = { ...request('b c'), scope: 'a', fingerprint: 'another' }
      assert.deepEqual(await mine.once(second, async () => REPLY, noRun), REPLY)
      held.resolve(REPLY)
      await first
      await mine.close()
    })

    test('is renewed while the request runs, so it never runs twice', async () => {
      const [mine, other] = [node(), node()]
      const run = startRun(mine, 'long', 'the only answer')
      await run.begun
      const second = other.once(request('long'), () => assert.fail('it ran twice'), noRun)
      for (let halves = 0; halves < 6; halves++) {
        time += LEASE_MS / 2
        await until('it is renewed', async () => (await claimOf(service(), 'long'))?.lease_until === time + LEASE_MS)
      }
      run.end()
      assert.equal((await run.reply).body, 'the only answer')
      assert.equal((await second).body, 'the only answer')
      for (const each of [mine, other]) each.close()
    })

    test("ends with its node: another node runs the request, and the old run can't answer any more", async () => {
      const [dead, alive] = [node(), node()]
      const old = startRun(dead, 'lost', 'too late')
      await old.begun
      dead.close()
      const taken = startRun(alive, 'lost', 'in time')
      time += LEASE_MS + 1
      await taken.begun
      old.end()
      await old.reply
      assert.equal(old.kept(), false)
      taken.end()
      await taken.reply
      assert.equal(taken.kept(), true)
      assert.equal((await claimOf(service(), 'lost'))?.body, 'in time')
      alive.close()
    })

    test('409 with Retry-After for a request that has waited too long for the one in progress', async () => {
      const [mine, impatient] = [node(), node(30)]
      const run = startRun(mine, 'slow', 'at last')
      await run.begun
      await assert.rejects(
        impatient.once(request('slow'), () => assert.fail('it ran twice'), noRun),
        { code: 'idempotency_key_in_use', status: 409, retry_after: 1, headers: { 'Retry-After': '1' } },
      )
      run.end()
      await run.reply
      for (const each of [mine, impatient]) each.close()
    })
  })
})

async function claimOf(node: Service, key: string) {
  return storeOf(node).selectFrom('claims').selectAll().where('key', '=', key).executeTakeFirst()
}

async function isClaimed(service: Service, key: string): Promise<boolean> {
  return (await claimOf(service, key)) !== undefined
}
