import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { Names, readHostFiles } from '../../src/security/outgoing/names.ts'
import { startDnsServer, type Zone } from '../support/outside/dns-server.ts'
import { inOneAttempt } from '../support/running/attempts.ts'
import { until } from '../support/running/until.ts'

const noFiles = async () => ({ hosts: new Map(), search: [], ndots: 1 })

async function setUp(t: TestContext, zone: Zone, files: ConstructorParameters<typeof Names>[0] = {}) {
  const server = await startDnsServer(t, zone)
  const ending = new AbortController()
  t.after(() => ending.abort())
  const names = new Names({ nameservers: [server.address], readFiles: noFiles, ...files })
  const resolve = async (name: string, owner = 'me', signal = ending.signal) =>
    (await names.resolve(name, { owner, signal })).map(({ address, family }) => `${address} ${family}`)
  return { server, resolve }
}

/** The host's files, made up. */
async function filesOf(t: TestContext, hosts: string, resolver = '') {
  const folder = await mkdtemp(join(tmpdir(), 'moorage-names-'))
  t.after(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'hosts'), hosts)
  await writeFile(join(folder, 'resolv.conf'), resolver)
  return { readFiles: () => readHostFiles(join(folder, 'hosts'), join(folder, 'resolv.conf')), folder }
}

describe('a host name', () => {
  test('resolves to the addresses of both families, IPv4 first', async (t) => {
    const { resolve } = await setUp(t, { 'a.test': { A: ['1.1.1.1', '1.0.0.1'], AAAA: ['2606:4700:4700::1111'] } })
    assert.deepEqual(await resolve('a.test'), ['1.1.1.1 4', '1.0.0.1 4', '2606:4700:4700::1111 6'])
  })

  test('resolves if only one family has an address', async (t) => {
    const { resolve } = await setUp(t, { 'four.test': { A: ['1.1.1.1'] }, 'six.test': { AAAA: ['2606:4700::1'] } })
    assert.deepEqual(await resolve('four.test'), ['1.1.1.1 4'])
    assert.deepEqual(await resolve('six.test'), ['2606:4700::1 6'])
  })

  test('is not delayed by a server that never answers for one family', async (t) => {
    // A lookup waits longer than four seconds for a server that does not answer.
    await inOneAttempt(async () => {
      const { resolve } = await setUp(t, { 'a.test': { A: ['1.1.1.1'], AAAA: 'silent' } })
      const started = performance.now()
      assert.deepEqual(await resolve('a.test'), ['1.1.1.1 4'])
      assert.ok(performance.now() - started < 1_500)
    })
  })

  test('that does not exist, or has no address', async (t) => {
    const { resolve } = await setUp(t, { 'empty.test': {} })
    await assert.rejects(resolve('nowhere.test'), { code: 'ENOTFOUND' })
    await assert.rejects(resolve('empty.test'), { code: 'ENODATA' })
  })

  test("is cached for its record's TTL, and for half a minute at most", async (t) => {
    let now = 1_000_000
    const zone = { 'short.test': { A: ['1.1.1.1'], ttl: 2 }, 'long.test': { A: ['1.1.1.1'], ttl: 86_400 } }
    const { resolve, server } = await setUp(t, zone, { now: () => now })
    const questions = (name: string) => server.asked.filter((question) => question === `${name} A`).length
    for (const [name, age] of [
      ['short.test', 2_000],
      ['long.test', 30_000],
    ] as const) {
      await resolve(name)
      now += age
      await resolve(name)
      assert.equal(questions(name), 1)
      now += 1
      await resolve(name)
      assert.equal(questions(name), 2)
    }
  })

  test('a failure is not cached', async (t) => {
    const zone: Zone = {}
    const { resolve } = await setUp(t, zone)
    await assert.rejects(resolve('late.test'), { code: 'ENOTFOUND' })
    zone['late.test'] = { A: ['1.1.1.1'] }
    assert.deepEqual(await resolve('late.test'), ['1.1.1.1 4'])
  })
})

describe('names defined on this host', () => {
  test('the hosts file has priority, and is read again after it changes', async (t) => {
    let now = 0
    const { readFiles, folder } = await filesOf(
      t,
      '# names\n127.0.0.1 localhost\n10.0.0.7\tDB.internal db # the database\nfd00::7 db\nnonsense here\n',
    )
    const { resolve, server } = await setUp(t, { db: { A: ['1.1.1.1'] } }, { readFiles, now: () => now })
    assert.deepEqual(await resolve('db.internal'), ['10.0.0.7 4'])
    assert.deepEqual(await resolve('db'), ['10.0.0.7 4', 'fd00::7 6'])
    assert.deepEqual(await resolve('localhost'), ['127.0.0.1 4'])
    assert.deepEqual(server.asked, [])
    await writeFile(join(folder, 'hosts'), '10.0.0.8 db\n')
    now += 5_001
    assert.deepEqual(await resolve('db'), ['10.0.0.8 4'])
  })

  test('localhost is always this host', async (t) => {
    const { resolve, server } = await setUp(t, { localhost: { A: ['1.1.1.1'] } })
    assert.deepEqual(await resolve('localhost'), ['127.0.0.1 4', '::1 6'])
    assert.deepEqual(await resolve('app.localhost'), ['127.0.0.1 4', '::1 6'])
    assert.deepEqual(server.asked, [])
  })

  test('short names are tried in the search domains', async (t) => {
    const { readFiles } = await filesOf(t, '', 'nameserver 10.0.0.1\nsearch ns.svc.test svc.test.\noptions ndots:2\n')
    const zone = { 'db.other.svc.test': { A: ['10.0.0.1'] }, 'a.b.c': { A: ['10.0.0.2'] } }
    const { resolve, server } = await setUp(t, zone, { readFiles })
    assert.deepEqual(await resolve('db.other'), ['10.0.0.1 4'])
    assert.deepEqual(await resolve('a.b.c'), ['10.0.0.2 4'])
    const names = new Set(server.asked.map((question) => question.split(' ')[0]))
    assert.deepEqual([...names], ['db.other.ns.svc.test', 'db.other.svc.test', 'a.b.c'])
  })

  test('missing hosts and resolver files are ignored', async (t) => {
    const readFiles = () => readHostFiles('/nowhere/hosts', '/nowhere/resolv.conf')
    const { resolve } = await setUp(t, { 'a.test': { A: ['1.1.1.1'] } }, { readFiles })
    assert.deepEqual(await resolve('a.test'), ['1.1.1.1 4'])
  })
})

describe('host names that are slow to resolve', () => {
  const slow = (count: number, kind: string): Zone =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`${kind}${index}.test`, { A: 'silent', AAAA: 'silent' }]),
    )

  test('delay only their own client, whose lookups are queued', async (t) => {
    const { resolve, server } = await setUp(t, { ...slow(40, 'slow'), 'a.test': { A: ['1.1.1.1'] } })
    const stop = new AbortController()
    const pending = Object.keys(slow(40, 'slow')).map((name) => resolve(name, 'slow', stop.signal).catch(() => {}))
    const names = () => new Set(server.asked.map((question) => question.split(' ')[0])).size
    await until('the first questions', () => names() >= 8)

    assert.deepEqual(await resolve('a.test', 'another'), ['1.1.1.1 4'])
    assert.equal(server.asked.filter((question) => question === 'a.test A').length, 1)
    assert.ok(names() < 40, 'the owner of the slow names still waits in line')

    stop.abort()
    await Promise.all(pending)
    assert.deepEqual(await resolve('a.test', 'slow'), ['1.1.1.1 4'])
  })

  test('can be aborted at any time', async (t) => {
    const { resolve, server } = await setUp(t, slow(9, 'slow'))
    await assert.rejects(resolve('slow0.test', 'me', AbortSignal.abort(new Error('gone'))), /gone/)
    assert.deepEqual(server.asked, [])
    const stop = new AbortController()
    const asking = Array.from({ length: 9 }, (_, index) => resolve(`slow${index}.test`, 'me', stop.signal))
    await until('the questions', () => server.asked.length >= 16)
    stop.abort(new Error('gone'))
    // A lookup that was not aborted would fail with another reason, seconds later.
    for (const outcome of await Promise.allSettled(asking)) {
      assert.match(String(outcome.status === 'rejected' && outcome.reason), /gone|ECANCELLED/)
    }
  })
})
