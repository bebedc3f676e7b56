import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { KyselyPlugin, Selectable } from 'kysely'
import { hashOf } from '../../src/audit/audit-entry.ts'
import { removeOldEntries, sealEntries, verifyChain } from '../../src/audit/chain.ts'
import type { Tables } from '../../src/storage/tables.ts'
import { newShell } from '../support/clients/cli.ts'
import { databaseUrl, keyringOf, partsOf, storageOf, storeOf } from '../support/inside.ts'
import { onEveryEngine } from '../support/service/service.ts'

const GENESIS = '0'.repeat(64)

type Rows = Selectable<Tables['audit_log']>[]

/** Something that happens between two queries of the same reader. */
function afterQuery(number: number, happens: () => Promise<unknown>): KyselyPlugin {
  let count = 0
  return {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      count++
      if (count === number) await happens()
      return result
    },
  }
}

onEveryEngine('the chain of the audit log', (service) => {
  const db = () => storeOf(service())
  const verify = (pinned?: { seq: number; hash: string }, reader = db()) =>
    verifyChain({ db: reader, keyring: keyringOf(service()) }, pinned)
  const sealed = async () => {
    await sealEntries(storageOf(service()))
    return db().selectFrom('audit_log').selectAll().where('seq', 'is not', null).orderBy('seq').execute()
  }
  /** Verifies on the host, against the head that was there before somebody wrote to the database. */
  const verifyOnHost = async (...args: string[]) => {
    const shell = newShell()
    const url = databaseUrl(service())
    const env = { MOORAGE_DATA: service().data, ...(url && { DATABASE_URL: url }) }
    try {
      return await shell.moorage(['audit', ...args], { env })
    } finally {
      shell.remove()
    }
  }
  /** What the host says after somebody wrote to the database. The log is as before afterwards. */
  const after = async (attack: (rows: Rows, head: { seq: number; hash: string }) => Promise<unknown>) => {
    const rows = await sealed()
    const { seq, hash } = rows.at(-1) as { seq: number; hash: string }
    await attack(rows, { seq, hash })
    const told = await verifyOnHost('verify', '--pinned', `${seq}:${hash}`)
    await db().deleteFrom('audit_log').where('seq', 'is not', null).execute()
    for (const { position: _, ...row } of rows) await db().insertInto('audit_log').values(row).execute()
    await db().updateTable('audit_chain').set({ seq, hash }).where('name', '=', 'head').execute()
    assert.equal((await verify()).ok, true)
    return [told.code, told.stderr.trim()]
  }
  const problem = (seq: number, text: string) => [1, `error: Verification failed at entry ${seq}: ${text}`]

  before(async () => {
    for (let i = 0; i < 8; i++) await service().call('POST', '/v1/agents', { body: { name: `chained-${i}` } })
  })

  test('verifyChain finds altered, removed, inserted or truncated entries', async () => {
    const rows = await sealed()
    const middle = rows[Math.floor(rows.length / 2)] as (typeof rows)[number]
    const seq = middle.seq as number
    const head = rows.at(-1) as (typeof rows)[number]
    const change = (changes: Record<string, string | number>) =>
      db().updateTable('audit_log').set(changes).where('id', '=', middle.id).execute()

    assert.deepEqual(await verify(), {
      ok: true,
      entries: rows.length,
      head: { seq: head.seq, hash: head.hash },
    })
    await change({ actor: 'somebody else' })
    assert.deepEqual(await verify(), { ok: false, seq, problem: 'the entry was altered' })
    await change({ actor: middle.actor as string, hash: GENESIS })
    assert.deepEqual(await verify(), { ok: false, seq, problem: 'the entry was altered' })
    await change({ hash: middle.hash as string, prev_hash: GENESIS })
    assert.deepEqual(await verify(), {
      ok: false,
      seq,
      problem: 'the entry does not follow the one before it',
    })
    await change({ prev_hash: middle.prev_hash as string })

    await db().deleteFrom('audit_log').where('id', '=', middle.id).execute()
    assert.deepEqual(await verify(), { ok: false, seq, problem: 'the entry is missing' })
    const { position: _, ...whole } = middle
    await db().insertInto('audit_log').values(whole).execute()

    await db().deleteFrom('audit_log').where('id', '=', head.id).execute()
    assert.deepEqual(await verify(), { ok: false, seq: head.seq, problem: 'the entry is missing' })
    const { position: __, ...last } = head
    await db().insertInto('audit_log').values(last).execute()
    assert.equal((await verify()).ok, true)
  })

  test('a pinned head finds a chain that was computed again', async () => {
    const rows = await sealed()
    const head = rows.at(-1) as (typeof rows)[number]
    const pinned = { seq: head.seq as number, hash: head.hash as string }
    assert.equal((await verify(pinned)).ok, true)
    const forged = { ...pinned, hash: GENESIS }
    assert.deepEqual(await verify(forged), {
      ok: false,
      seq: pinned.seq,
      problem: 'the entry is not the one that was pinned',
    })
    assert.deepEqual(await verify({ seq: pinned.seq + 1, hash: GENESIS }), {
      ok: false,
      seq: pinned.seq + 1,
      problem: 'the chain ends before the pinned entry',
    })
  })

  test('moorage audit verify says so on the host, with the exit code', async () => {
    const head = await verifyOnHost('head')
    assert.equal(head.code, 0, head.stderr)
    const good = await verifyOnHost('verify', '--pinned', head.stdout.trim())
    assert.equal(good.code, 0, good.stderr)
    assert.match(good.stderr, /\d+ entries verified/)
    assert.equal(good.stdout, head.stdout)
    const bad = await verifyOnHost('verify', '--pinned', `1:${GENESIS}`)
    assert.equal(bad.code, 1)
    assert.match(bad.stderr, /Verification failed at entry 1: the entry is not the one that was pinned/)
    const typo = await verifyOnHost('verify', '--pinned', 'x')
    assert.equal(typo.code, 2)
  })

  test('entries that someone removed, as retention would, are missing', async () => {
    const removeUpTo = (seq: number) => db().deleteFrom('audit_log').where('seq', '<=', seq).execute()
    assert.deepEqual(await after((_rows, head) => removeUpTo(head.seq)), problem(1, 'the entry is missing'))
    assert.deepEqual(await after(() => removeUpTo(4)), problem(1, 'the entry is missing'))
  })

  test('an entry in the name of retention, properly linked, needs the master key', async () => {
    const { now } = service()
    const { newId } = partsOf(service())
    let seq = 0
    const told = await after(async (_rows, head) => {
      seq = head.seq + 1
      const entry = {
        id: newId('aud', now()),
        created_at: now(),
        actor_kind: 'local' as const,
        actor: 'local',
        key_id: null,
        action: 'trimAuditLog',
        project_id: 'prj_default',
        agent_id: null,
        target: `${head.seq}:${head.hash}:AAAAAAAAAAAAAAAA`,
        outcome: 'success' as const,
        code: null,
        fields: [],
        times: 1,
        request_id: newId('req', now()),
        address: null,
      }
      const link = { seq, prev_hash: head.hash }
      const hash = hashOf(entry, link)
      await db().deleteFrom('audit_log').execute()
      await db()
        .insertInto('audit_log')
        .values({ ...entry, ...link, fields: '[]', hash })
        .execute()
      await db().updateTable('audit_chain').set({ seq, hash }).execute()
    })
    assert.deepEqual(told, problem(seq, 'the entry was not written by retention'))
  })

  test('entries before the beginning and after the end are noticed', async () => {
    const put = (seq: number) => async (rows: Rows) => {
      const { position: _, ...row } = rows[2] as Rows[number]
      await db()
        .insertInto('audit_log')
        .values({ ...row, id: 'aud_stray', seq })
        .execute()
    }
    for (const seq of [-5, 0]) {
      assert.deepEqual(await after(put(seq)), problem(seq, 'the entry comes before the beginning of the chain'))
    }
    const end = (await sealed()).length
    assert.deepEqual(await after(put(end + 5)), problem(end + 1, 'the entry is missing'))
    const headBack = (rows: Rows) =>
      db()
        .updateTable('audit_chain')
        .set({ seq: end - 1, hash: String(rows.at(-2)?.hash) })
        .execute()
    assert.deepEqual(await after(headBack), problem(end, 'the entry comes after the end of the chain'))
  })

  test('retention removes no entry that someone made old', async () => {
    const old = () => db().updateTable('audit_log').set({ created_at: 0 }).where('seq', '<=', 4).execute()
    const told = await after(async () => {
      await old()
      assert.equal(await removeOldEntries(partsOf(service()), 1, 100), 0)
    })
    assert.deepEqual(told, problem(1, 'the entry was altered'))
  })

  test('after retention, the rest of the chain still verifies', async () => {
    const rows = await sealed()
    const old = rows.slice(0, 3)
    const time = Math.max(...old.map(({ created_at }) => created_at)) + 1
    assert.equal(await removeOldEntries(partsOf(service()), time, 2), 2)
    const verdict = await verify()
    assert.deepEqual([verdict.ok, verdict.ok && verdict.entries], [true, rows.length - 1])
    const removed = rows[0] as (typeof rows)[number]
    assert.deepEqual(await verify({ seq: 1, hash: removed.hash as string }), {
      ok: false,
      seq: 1,
      problem: 'the pinned entry was removed by retention: pin a newer one',
    })
    // The hash of the last deleted entry is known.
    const lastRemoved = rows[1] as (typeof rows)[number]
    assert.equal((await verify({ seq: 2, hash: lastRemoved.hash as string })).ok, true)
    assert.deepEqual(await verify({ seq: 2, hash: GENESIS }), {
      ok: false,
      seq: 2,
      problem: 'the pinned entry was removed by retention: pin a newer one',
    })
    const { body } = await service().call('GET', '/v1/audit-log?action=trimAuditLog')
    const [said] = body.data
    assert.deepEqual([said.actor_kind, said.outcome, said.seq], ['local', 'success', rows.length + 1])
    assert.equal(said.target.slice(0, said.target.lastIndexOf(':')), `2:${lastRemoved.hash}`)
    const far = service().now() + 1
    // Whichever query it follows, retention must not cause a false alarm.
    for (let query = 1; query <= 4; query++) {
      const meanwhile = afterQuery(query, () => removeOldEntries(partsOf(service()), far, 1))
      assert.equal((await verify(undefined, db().withPlugin(meanwhile))).ok, true, `after query ${query}`)
    }
    const all = afterQuery(1, () => removeOldEntries(partsOf(service()), far, 1_000))
    assert.deepEqual((await verify(undefined, db().withPlugin(all))).ok, true)
    while ((await removeOldEntries(partsOf(service()), far, 100)) > 0);
    assert.equal((await verify()).ok, true)
    await service().call('PATCH', '/v1/agents/hello', { body: { temperature: 0 } })
    const left = new Set((await sealed()).map(({ action }) => action))
    assert.deepEqual([...left], ['trimAuditLog', 'updateAgent'])
    assert.equal((await verify()).ok, true)
  })
})
