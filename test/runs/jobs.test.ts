import assert from 'node:assert/strict'
import { once } from 'node:events'
import { afterEach, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { idSource } from '../../src/lib/id.ts'
import type { Json } from '../../src/lib/json.ts'
import { createLog } from '../../src/lib/log.ts'
import type { JobAttempt, JobHandler } from '../../src/storage/jobs/job-handler.ts'
import { enqueue, type NewJob, removeFailed } from '../../src/storage/jobs/jobs.ts'
import { openJobs } from '../../src/storage/jobs/run-jobs.ts'
import { until as untilTrue } from '../support/running/until.ts'
import { startJobChild } from '../support/service/job-child.ts'
import { onBothStores } from '../support/stores/store.ts'

const newId = idSource()
const log = createLog({ level: 'silent', format: 'json' })

onBothStores('jobs', (store) => {
  let offset = 0
  /** Where the clock stands still, if it does. */
  let frozen: number | undefined
  const now = () => (frozen ?? Date.now()) + offset
  const open: { close(): Promise<void> }[] = []
  let kinds = 0

  /** A kind of its own for every test, so that none sees another's jobs. */
  const start = (
    { lease_ms = 10_000, ...handler }: Partial<JobHandler> & Pick<JobHandler, 'run'> & { lease_ms?: number },
    kind = `kind-${++kinds}`,
    storage = store().storage,
  ) => {
    const jobs = openJobs(
      { storage, now, log, node: 'service:test', lease_ms },
      { [kind]: { concurrency: 2, ...handler } },
    )
    open.push(jobs)
    return { ...jobs, kind }
  }
  const add = (job: Partial<NewJob> & Pick<NewJob, 'kind'>) =>
    store().storage.transaction((db) => enqueue(db, { id: newId('job', now()), payload: null, run_at: now(), ...job }))
  const rows = (kind: string) =>
    store().storage.db.selectFrom('jobs').selectAll().where('kind', '=', kind).orderBy('id').execute()
  /** Resolves when the handler was called so often; collects what it was called with. */
  const calls = (count: number, act: (payload: Json, run: JobAttempt) => unknown = () => {}) => {
    const reached = Promise.withResolvers<void>()
    const seen: { payload: Json; attempts: number }[] = []
    const run = async (payload: Json, job: JobAttempt) => {
      seen.push({ payload, attempts: job.attempts })
      if (seen.length === count) reached.resolve()
      await act(payload, job)
    }
    return { run, seen, reached: reached.promise }
  }
  const until = (holds: () => Promise<boolean>) => untilTrue('what the test waits for', holds)

  afterEach(async () => {
    await Promise.all(open.splice(0).map((jobs) => jobs.close()))
    offset = 0
    frozen = undefined
  })

  test('a job runs with its payload, and is gone', async () => {
    const { run, seen, reached } = calls(1)
    const { kind } = start({ run })
    assert.equal(await add({ kind, payload: { text: 'a', list: [1, null] } }), true)
    await reached
    await until(async () => (await rows(kind)).length === 0)
    assert.deepEqual(seen, [{ payload: { text: 'a', list: [1, null] }, attempts: 1 }])
  })

  test('jobs that wait from before a start run, the longest due first', async () => {
    const kind = 'from-before'
    const time = now()
    for (const payload of [2, 3, 1]) await add({ kind, payload, run_at: time - 10 + payload })
    const { run, seen, reached } = calls(3)
    start({ run, concurrency: 1 }, kind)
    await reached
    assert.deepEqual(
      seen.map(({ payload }) => payload),
      [1, 2, 3],
    )
  })

  test('a transaction that fails leaves no job', async () => {
    const kind = 'rolled-back'
    const failed = store().storage.transaction(async (db) => {
      await enqueue(db, { id: newId('job', now()), kind, payload: null, run_at: now() })
      throw new Error('no')
    })
    await assert.rejects(failed, /^Error: no$/)
    assert.deepEqual(await rows(kind), [])
  })

  test('one job waits under a key; one that runs does not count', async () => {
    const kind = 'keyed'
    assert.equal(await add({ kind, key: 'a', payload: 1 }), true)
    assert.equal(await add({ kind, key: 'a', payload: 2 }), false)
    assert.equal(await add({ kind, key: 'b', payload: 4 }), true)
    assert.deepEqual(
      (await rows(kind)).map(({ key, payload }) => [key, payload]),
      [
        ['a', '1'],
        ['b', '4'],
      ],
    )
    const release = Promise.withResolvers<void>()
    const both = calls(2, () => release.promise)
    start({ run: both.run }, kind)
    await both.reached
    assert.equal(await add({ kind, key: 'a', payload: 6 }), true)
    assert.equal(await add({ kind, key: 'a', payload: 7 }), false)
    release.resolve()
    await until(async () => (await rows(kind)).length === 0)
    assert.deepEqual(both.seen.map(({ payload }) => payload).toSorted(), [1, 4, 6])
  })

  test('a job does not run before its time', async () => {
    const { run, seen, reached } = calls(1)
    const { kind, wake } = start({ run })
    await add({ kind, run_at: now() + 3_600_000, payload: 'later' })
    const other = calls(1)
    const probe = start({ run: other.run })
    await add({ kind: probe.kind })
    await other.reached
    assert.deepEqual(seen, [])
    offset = 3_600_000
    wake()
    await reached
  })

  test('a job that is due soon runs by itself', async () => {
    const { run, reached } = calls(1)
    const { kind } = start({ run })
    const run_at = now() + 150
    await add({ kind, run_at })
    await reached
    assert.ok(now() >= run_at)
  })

  test('no more run at once than the lane is wide', async () => {
    let atOnce = 0
    let most = 0
    const full = Promise.withResolvers<void>()
    const { run, reached } = calls(12, async () => {
      most = Math.max(most, ++atOnce)
      if (most === 3) full.resolve()
      await full.promise
      // So long others could begin.
      await delay(20)
      atOnce--
    })
    const { kind } = start({ run, concurrency: 3 })
    await Promise.all(Array.from({ length: 12 }, (_, i) => add({ kind, payload: i })))
    await reached
    assert.equal(most, 3)
  })

  test('what fails is tried again, then kept with its error and without secrets', async () => {
    const { run, seen, reached } = calls(3, () => {
      throw new Error('refused Authorization: Bearer abcdef0123456789')
    })
    const { kind } = start({ run, max_attempts: 3, retry_ms: () => 10 })
    await add({ kind, payload: 'x' })
    await reached
    await until(async () => (await rows(kind))[0]?.failed_at !== null)
    const [{ id: _, failed_at, run_at: __, ...row } = assert.fail()] = await rows(kind)
    assert.deepEqual(row, {
      kind,
      key: null,
      payload: '"x"',
      owner: null,
      attempts: 3,
      error: 'refused Authorization: Bearer [redacted]',
    })
    assert.deepEqual(
      seen.map(({ attempts }) => attempts),
      [1, 2, 3],
    )
    assert.equal(await removeFailed(store().storage.db, failed_at as number, 10), 0)
    assert.equal(await removeFailed(store().storage.db, (failed_at as number) + 1, 10), 1)
    assert.deepEqual(await rows(kind), [])
  })

  test('the pause after a failure is whole milliseconds, about a second at first', async () => {
    const { run, reached } = calls(1, () => {
      throw new Error('not now')
    })
    const { kind } = start({ run })
    frozen = Date.now()
    await add({ kind })
    await reached
    await until(async () => (await rows(kind))[0]?.error === 'not now')
    const [{ run_at, owner } = assert.fail()] = await rows(kind)
    assert.equal(owner, null)
    assert.ok(Number.isInteger(run_at), `${run_at}`)
    assert.ok(run_at - frozen >= 500 && run_at - frozen <= 2_000, `${run_at - frozen} ms`)
  })

  test('a failed run under a key is tried again, if the same work was not queued meanwhile', async () => {
    const { run, seen } = calls(2, async (_payload, { attempts }) => {
      if (attempts === 1) throw new Error('not yet')
    })
    const { kind } = start({ run, retry_ms: () => 0 })
    await add({ kind, key: 'k', payload: 'same' })
    await until(async () => seen.length === 2)
    await until(async () => (await rows(kind)).length === 0)
    assert.deepEqual(seen, [
      { payload: 'same', attempts: 1 },
      { payload: 'same', attempts: 2 },
    ])
  })

  test('a failed run gives way to the same work queued meanwhile', async () => {
    const release = Promise.withResolvers<void>()
    const { run, seen, reached } = calls(2, async (payload) => {
      if (payload === 'old') {
        await release.promise
        throw new Error('too old')
      }
    })
    const { kind } = start({ run, concurrency: 1, retry_ms: () => 0 })
    await add({ kind, key: 'k', payload: 'old' })
    await until(async () => seen.length === 1)
    await add({ kind, key: 'k', payload: 'new' })
    release.resolve()
    await reached
    await until(async () => (await rows(kind)).length === 0)
    assert.deepEqual(seen, [
      { payload: 'old', attempts: 1 },
      { payload: 'new', attempts: 1 },
    ])
  })

  test('a job whose process was killed runs again once its lease is over, until its attempts are', async () => {
    const kind = 'killed'
    await add({ kind, payload: 'again' })
    const child = await startJobChild(store().options, { kind, lease_ms: 400 })
    assert.equal((await rows(kind))[0]?.attempts, 1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const { run, seen, reached } = calls(1)
    start({ run, lease_ms: 400 }, kind)
    await reached
    await until(async () => (await rows(kind)).length === 0)
    assert.deepEqual(seen, [{ payload: 'again', attempts: 2 }])

    const { db } = store().storage
    await add({ kind, run_at: now() + 3_600_000 })
    await db.updateTable('jobs').set({ owner: 'dead', attempts: 10, run_at: 0 }).where('kind', '=', kind).execute()
    start({ run }, kind)
    await until(async () => (await rows(kind))[0]?.failed_at !== null)
    assert.equal((await rows(kind))[0]?.error, 'the process ended during its last attempt')
    assert.equal(seen.length, 1)
    await db.deleteFrom('jobs').where('kind', '=', kind).execute()
  })

  test('a run longer than its lease keeps it while its process lives', async () => {
    const release = Promise.withResolvers<void>()
    const { run, seen, reached } = calls(1, () => release.promise)
    const lease_ms = 100
    const { kind } = start({ run, lease_ms })
    frozen = Date.now()
    await add({ kind })
    await reached
    const other = start({ run, lease_ms }, kind, await store().another())
    // The clock goes on once the lease is renewed: however long this process stands still, it does not end.
    for (let passed = 0; passed < 5 * lease_ms; passed += lease_ms / 2) {
      await until(async () => (await rows(kind))[0]?.run_at === now() + lease_ms)
      offset += lease_ms / 2
      other.wake()
    }
    release.resolve()
    await until(async () => (await rows(kind)).length === 0)
    assert.equal(seen.length, 1)
  })

  test('a process that slept through its own lease does not run its job twice', async () => {
    const release = Promise.withResolvers<void>()
    const { run, seen, reached } = calls(2, () => release.promise)
    const { kind, wake } = start({ run, concurrency: 3 })
    await add({ kind, payload: 'long' })
    await until(async () => seen.length === 1)
    offset = 60_000
    await add({ kind, payload: 'probe' })
    wake()
    await reached
    assert.deepEqual(
      seen.map(({ payload }) => payload),
      ['long', 'probe'],
    )
    release.resolve()
    await until(async () => (await rows(kind)).length === 0)
    assert.equal(seen.length, 2)
  })

  test('who loses one job goes on with the others', async () => {
    const release = Promise.withResolvers<void>()
    const stopped: Json[] = []
    const { run, reached } = calls(3, async (payload, { signal }) => {
      signal.addEventListener('abort', () => stopped.push(payload))
      await Promise.race([release.promise, once(signal, 'abort')])
      signal.throwIfAborted()
    })
    const { kind } = start({ run, concurrency: 3, lease_ms: 40 })
    for (const payload of ['first', 'lost', 'last']) await add({ kind, payload })
    await reached
    await store()
      .storage.db.updateTable('jobs')
      .set({ owner: 'other', run_at: now() + 60_000 })
      .where('payload', '=', '"lost"')
      .execute()
    await until(async () => stopped.length > 0)
    // Several renewals later the others are still held.
    await delay(100)
    assert.deepEqual(stopped, ['lost'])
    release.resolve()
    await until(async () => (await rows(kind)).length === 1)
    const [left] = await rows(kind)
    assert.deepEqual([left?.payload, left?.owner], ['"lost"', 'other'])
    await store().storage.db.deleteFrom('jobs').where('kind', '=', kind).execute()
  })

  test('whoever lost the lease is told, and can neither finish nor undo', async () => {
    const aborted = Promise.withResolvers<boolean>()
    const { run } = calls(1, async (_payload, { signal, finish }) => {
      await store().storage.db.updateTable('jobs').set({ owner: 'other' }).where('kind', '=', kind).execute()
      await once(signal, 'abort')
      aborted.resolve(await store().storage.transaction(finish))
      throw signal.reason
    })
    const { kind, close } = start({ run, lease_ms: 40 })
    await add({ kind })
    assert.equal(await aborted.promise, false)
    await close()
    assert.deepEqual(
      (await rows(kind)).map(({ owner, attempts, error }) => [owner, attempts, error]),
      [['other', 1, null]],
    )
    await store().storage.db.deleteFrom('jobs').where('kind', '=', kind).execute()
  })

  test('finish ends the job with the effects of the run, or not at all', async () => {
    const { run, seen, reached } = calls(2, async (_payload, { attempts, finish }) => {
      await store().storage.transaction(async (db) => {
        assert.equal(await finish(db), true)
        if (attempts === 1) throw new Error('the effects failed')
      })
    })
    const { kind } = start({ run, retry_ms: () => 0 })
    await add({ kind })
    await reached
    await until(async () => (await rows(kind)).length === 0)
    assert.deepEqual(
      seen.map(({ attempts }) => attempts),
      [1, 2],
    )
  })

  test('close waits for what ends soon', async () => {
    const { run, reached } = calls(1, () => delay(50))
    const { kind, close } = start({ run })
    await add({ kind })
    await reached
    await close()
    assert.deepEqual(await rows(kind), [])
  })

  test('close puts back what does not, as if it had not been tried', async () => {
    const { run, reached } = calls(1, (_payload, { signal }) => delay(60_000, undefined, { signal }))
    const { kind, close } = start({ run })
    await add({ kind, payload: 'half done' })
    await reached
    await close()
    const [row] = await rows(kind)
    assert.deepEqual([row?.owner, row?.attempts, row?.error], [null, 0, null])
    await add({ kind, payload: 'not while closed' })
    const second = calls(2)
    start({ run: second.run, concurrency: 1 }, kind)
    await second.reached
    assert.deepEqual(
      second.seen.toSorted((a, b) => (String(a.payload) < String(b.payload) ? -1 : 1)),
      [
        { payload: 'half done', attempts: 1 },
        { payload: 'not while closed', attempts: 1 },
      ],
    )
  })

  test('recurring work exists once for all nodes, comes back after its pause and is never given up', async () => {
    let failing = true
    const { run, seen, reached } = calls(3, () => {
      if (failing) throw new Error('not yet')
    })
    const handler = { run, every_ms: 3_600_000, max_attempts: 1, retry_ms: () => 5 }
    const { kind, wake } = start(handler)
    start(handler, kind, await store().another())
    await reached
    failing = false
    await until(async () => (await rows(kind))[0]?.attempts === 0)
    const after = seen.length
    const [{ run_at, owner, error, failed_at } = assert.fail(), ...others] = await rows(kind)
    assert.deepEqual([owner, error, failed_at, others], [null, null, null, []])
    assert.ok(run_at > now() + 3_500_000)
    offset = 3_600_000
    wake()
    await until(async () => seen.length === after + 1 && (await rows(kind))[0]?.owner === null)
  })

  test('nodes share the work, and do each job once', async () => {
    const doneBy: Record<string, string[]> = { first: [], second: [] }
    const bothWork = Promise.withResolvers<void>()
    const handler = (node: string) => ({
      concurrency: 4,
      async run(payload: Json) {
        doneBy[node]?.push(payload as string)
        if (doneBy['first']?.length && doneBy['second']?.length) bothWork.resolve()
        // However quick one node is, it does not do the work of both.
        if (store().engine === 'postgres') await bothWork.promise
      },
    })
    const { kind } = start(handler('first'))
    start(handler('second'), kind, await store().another())
    const payloads = Array.from({ length: 60 }, (_, i) => `job ${i}`)
    await Promise.all(payloads.map((payload) => add({ kind, payload })))
    await until(async () => (await rows(kind)).length === 0)
    assert.deepEqual(Object.values(doneBy).flat().toSorted(), payloads.toSorted())
  })
})
