import assert from 'node:assert/strict'
import { once } from 'node:events'
import { afterEach, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { idSource } from '../../src/lib/id.ts'
import { createLog } from '../../src/lib/log.ts'
import type { JobHandler } from '../../src/storage/jobs/job-handler.ts'
import { enqueue } from '../../src/storage/jobs/jobs.ts'
import { openJobs } from '../../src/storage/jobs/run-jobs.ts'
import { until as untilTrue } from '../support/running/until.ts'
import { startJobChild } from '../support/service/job-child.ts'
import { onBothStores } from '../support/stores/store.ts'

const newId = idSource()

onBothStores('jobs', (store) => {
  let offset = 0
  /** The time at which the clock is held, if it is. */
  let frozen: number | undefined
  const now = () => (frozen ?? Date.now()) + offset
  const open: { close(): Promise<void> }[] = []
  let told = ''
  const log = createLog({ level: 'warn', format: 'json' }, { write: (line) => (told += line) })
  let kinds = 0
  /** A separate kind for each test, so that none sees another's jobs. */
  const newKind = () => `kind-${++kinds}`

  const startAll = (handlers: Record<string, JobHandler>, { lease_ms = 10_000, storage = store().storage } = {}) => {
    const jobs = openJobs({ storage, now, log, node: 'service:test', lease_ms }, handlers)
    open.push(jobs)
    return jobs
  }
  const start = (handler: JobHandler, kind = newKind(), options = {}) => ({
    ...startAll({ [kind]: handler }, options),
    kind,
  })
  const add = (kind: string, run_at = now()) =>
    store().storage.transaction((db) => enqueue(db, { id: newId('job', now()), kind, run_at }))
  const rows = (kind: string) =>
    store().storage.db.selectFrom('jobs').selectAll().where('kind', '=', kind).orderBy('id').execute()
  const remove = (kind: string) => store().storage.db.deleteFrom('jobs').where('kind', '=', kind).execute()
  /** Resolves when the handler was called so often. */
  const calls = (count: number, act: (signal: AbortSignal, call: number) => unknown = () => {}) => {
    const reached = Promise.withResolvers<void>()
    const seen = { calls: 0 }
    const run = async (signal: AbortSignal) => {
      const call = ++seen.calls
      if (call === count) reached.resolve()
      await act(signal, call)
    }
    return { run, seen, reached: reached.promise }
  }
  const until = (holds: () => Promise<boolean>) => untilTrue('what the test waits for', holds)
  const isGone = (kind: string) => until(async () => (await rows(kind)).length === 0)

  afterEach(async () => {
    await Promise.all(open.splice(0).map((jobs) => jobs.close()))
    offset = 0
    frozen = undefined
    told = ''
  })

  test('a job runs, and is gone', async () => {
    const { run, seen, reached } = calls(1)
    const { kind } = start({ run })
    assert.equal(await add(kind), true)
    await reached
    await isGone(kind)
    assert.equal(seen.calls, 1)
  })

  test('a job that waits from before a start runs', async () => {
    const kind = newKind()
    await add(kind)
    const { run, reached } = calls(1)
    start({ run }, kind)
    await reached
  })

  test('a transaction that fails leaves no job', async () => {
    const kind = newKind()
    const failed = store().storage.transaction(async (db) => {
      await enqueue(db, { id: newId('job', now()), kind, run_at: now() })
      throw new Error('no')
    })
    await assert.rejects(failed, /^Error: no$/)
    assert.deepEqual(await rows(kind), [])
  })

  test('one job of each kind can be queued while another one of it is running', async () => {
    const kind = newKind()
    assert.equal(await add(kind), true)
    assert.equal(await add(kind), false)
    const release = Promise.withResolvers<void>()
    const { run, seen, reached } = calls(1, () => release.promise)
    start({ run }, kind)
    await reached
    assert.equal(await add(kind), true)
    assert.equal(await add(kind), false)
    release.resolve()
    await isGone(kind)
    assert.equal(seen.calls, 2)
  })

  test('a job does not run before its time', async () => {
    const { run, seen, reached } = calls(1)
    const { kind, wake } = start({ run })
    await add(kind, now() + 3_600_000)
    const other = calls(1)
    const probe = start({ run: other.run })
    await add(probe.kind)
    await other.reached
    assert.equal(seen.calls, 0)
    offset = 3_600_000
    wake()
    await reached
  })

  test('a job that is due soon runs without a wake-up', async () => {
    const { run, reached } = calls(1)
    const { kind } = start({ run })
    const run_at = now() + 150
    await add(kind, run_at)
    await reached
    assert.ok(now() >= run_at)
  })

  test('a failed job is retried after growing pauses, and its error is logged without secrets', async () => {
    const { run, seen } = calls(3, (_signal, call) => {
      if (call < 3) throw new Error('refused Authorization: Bearer abcdef0123456789')
    })
    const { kind, wake } = start({ run })
    frozen = Date.now()
    await add(kind)
    for (const [attempts, least, most] of [
      [1, 500, 2_000],
      [2, 1_000, 4_000],
    ] as const) {
      const { run_at } = await untilTrue('it waits to be tried again', async () => {
        const [row] = await rows(kind)
        return row?.owner === null && row.attempts === attempts ? row : undefined
      })
      const pause = run_at - now()
      assert.ok(Number.isInteger(pause) && pause >= least && pause <= most, `${pause} ms`)
      offset += pause
      wake()
    }
    await isGone(kind)
    assert.equal(seen.calls, 3)
    assert.match(told, /"attempts":2,"error":"refused Authorization: Bearer \[redacted\]"/)
    assert.doesNotMatch(told, /abcdef/)
  })

  test('a failed job is dropped if the same work was queued in the meantime', async () => {
    const release = Promise.withResolvers<void>()
    const { run, seen, reached } = calls(1, async (_signal, call) => {
      if (call > 1) return
      await release.promise
      throw new Error('too old')
    })
    const { kind } = start({ run })
    await add(kind)
    await reached
    await add(kind)
    release.resolve()
    await isGone(kind)
    assert.equal(seen.calls, 2)
  })

  test('a job whose process was killed runs again after its lease expires', async () => {
    const kind = newKind()
    await add(kind)
    const child = await startJobChild(store().options, { kind, lease_ms: 400 })
    assert.equal((await rows(kind))[0]?.attempts, 1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    const { run, seen, reached } = calls(1)
    start({ run }, kind)
    await reached
    await isGone(kind)
    assert.equal(seen.calls, 1)
  })

  test('a run longer than its lease keeps it while its process lives', async () => {
    const release = Promise.withResolvers<void>()
    const { run, seen, reached } = calls(1, () => release.promise)
    const lease_ms = 100
    const { kind } = start({ run }, newKind(), { lease_ms })
    frozen = Date.now()
    await add(kind)
    await reached
    const other = start({ run }, kind, { lease_ms, storage: await store().another() })
    // The clock advances only after the lease is renewed, so it never expires, however long this process is suspended.
    for (let passed = 0; passed < 5 * lease_ms; passed += lease_ms / 2) {
      await until(async () => (await rows(kind))[0]?.run_at === now() + lease_ms)
      offset += lease_ms / 2
      other.wake()
    }
    release.resolve()
    await isGone(kind)
    assert.equal(seen.calls, 1)
  })

  test('a process that slept through its own lease does not run its job twice', async () => {
    const release = Promise.withResolvers<void>()
    const { run, seen, reached } = calls(1, () => release.promise)
    const probe = calls(1)
    const [kind, probed] = [newKind(), newKind()]
    const { wake } = startAll({ [kind]: { run }, [probed]: { run: probe.run } })
    await add(kind)
    await reached
    offset = 60_000
    await add(probed)
    wake()
    await probe.reached
    assert.equal(seen.calls, 1)
    release.resolve()
    await isGone(kind)
    assert.equal(seen.calls, 1)
  })

  test("a process that loses one job stops it, continues its other jobs, and can't change the lost one", async () => {
    const release = Promise.withResolvers<void>()
    const stopped: string[] = []
    const [first, lost, last] = [newKind(), newKind(), newKind()]
    const begun: string[] = []
    const handler = (kind: string): JobHandler => ({
      async run(signal) {
        begun.push(kind)
        signal.addEventListener('abort', () => stopped.push(kind))
        await release.promise
      },
    })
    const handlers = Object.fromEntries([first, lost, last].map((kind) => [kind, handler(kind)]))
    const { close } = startAll(handlers, { lease_ms: 40 })
    for (const kind of [first, lost, last]) await add(kind)
    await until(async () => begun.length === 3)
    await store()
      .storage.db.updateTable('jobs')
      .set({ owner: 'other', run_at: now() + 60_000 })
      .where('kind', '=', lost)
      .execute()
    await until(async () => stopped.length > 0)
    // Several renewals later the others are still held.
    await delay(100)
    assert.deepEqual(stopped, [lost])
    release.resolve()
    await isGone(first)
    await isGone(last)
    await close()
    assert.deepEqual(
      (await rows(lost)).map(({ owner, attempts }) => [owner, attempts]),
      [['other', 1]],
    )
    await remove(lost)
  })

  test('close waits for jobs that end soon', async () => {
    const { run, reached } = calls(1, () => delay(50))
    const { kind, close } = start({ run })
    await add(kind)
    await reached
    await close()
    assert.deepEqual(await rows(kind), [])
  })

  test('close returns other jobs to the queue without counting an attempt', async () => {
    const { run, reached } = calls(1, (signal) => delay(60_000, undefined, { signal }))
    const { kind, close } = start({ run })
    await add(kind)
    await reached
    await close()
    const [row] = await rows(kind)
    assert.deepEqual([row?.owner, row?.attempts], [null, 0])
    const second = calls(1)
    start({ run: second.run }, kind)
    await second.reached
    await isGone(kind)
  })

  test('recurring work exists once for all nodes, comes back after its pause and is never given up', async () => {
    const { run, seen, reached } = calls(12, (_signal, call) => {
      if (call < 12) throw new Error('not yet')
    })
    const handler = { run, every_ms: 5 }
    const { kind } = start(handler)
    start(handler, kind, { storage: await store().another() })
    await reached
    await until(async () => (await rows(kind))[0]?.attempts === 0)
    assert.equal((await rows(kind)).length, 1)
    const after = seen.calls
    await until(async () => seen.calls > after)
  })

  test('recurring work continues when the clock, which was a day ahead, is set right', async () => {
    offset = 24 * 3_600_000
    const { run, seen, reached } = calls(2)
    const { kind, wake } = start({ run, every_ms: 3_600_000 })
    await until(async () => (await rows(kind)).some(({ owner, run_at }) => owner === null && run_at > now()))
    assert.equal(seen.calls, 1)
    offset = 0
    wake()
    await reached
    await until(async () => (await rows(kind)).some(({ run_at }) => run_at <= now() + 3_600_000))
    await remove(kind)
  })

  test('recurring work rests between two runs', async () => {
    const { run, seen, reached } = calls(1)
    const { kind, wake } = start({ run, every_ms: 3_600_000 })
    await reached
    const isResting = async () => {
      const [row] = await rows(kind)
      return row?.owner === null && row.run_at > now() + 3_500_000
    }
    await until(isResting)
    offset = 3_600_000
    wake()
    await until(async () => seen.calls === 2 && (await isResting()))
  })

  test('nodes do each job once', async () => {
    const first = calls(Number.POSITIVE_INFINITY)
    const second = calls(Number.POSITIVE_INFINITY)
    const { kind } = start({ run: first.run })
    start({ run: second.run }, kind, { storage: await store().another() })
    for (let added = 1; added <= 20; added++) {
      await add(kind)
      await isGone(kind)
      assert.equal(first.seen.calls + second.seen.calls, added)
    }
  })
})
