import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { survey } from '../../src/webhooks/delivery/delivery-queue.ts'
import { newShell, type Shell, shellOfNobody } from '../support/clients/cli.ts'
import { authenticator } from '../support/clients/mfa.ts'
import { databaseUrl, partsOf, storeOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine, onBothEngines, startService, withService } from '../support/service/service.ts'
import { download, uploaded } from '../support/slices/files.ts'
import { createWebhook, delivery, LOCAL_RECEIVERS, openInbox, pass } from '../support/slices/webhooks.ts'

onBothEngines("moorage keys on the server's own machine", (service, engine) => {
  let shell: Shell
  let env: Record<string, string>
  before(() => {
    shell = newShell()
    const url = databaseUrl(service())
    env = { MOORAGE_DATA: service().data, ...(url && { DATABASE_URL: url }) }
  })
  after(() => shell.remove())

  test('create, list, get, rotate and revoke work without any key, and say so; the service notices immediately', async () => {
    const keys = (...args: string[]) => shell.moorage(['keys', ...args], { env })
    const created = await keys('create', 'rescue', '--role', 'admin', '--tier', 'enterprise')
    assert.equal(created.code, 0, created.stderr)
    assert.match(created.stderr, /No key is configured\. Using the local data directly/)
    assert.match(created.stdout, /^mrg_\w{49}\n$/)
    const faster = '10000 requests per minute, bursts of 20000; choose another with --tier: free, pro'
    assert.ok(created.stderr.endsWith(`  tier enterprise: ${faster}\n`), created.stderr)
    const secret = created.stdout.trim()
    const self = await service().call('GET', '/v1/keys/self', { key: secret })
    assert.equal(self.body.data.name, 'rescue')

    const { id } = self.body.data
    assert.match((await keys('list')).stdout, new RegExp(id))
    assert.match((await keys('get', id)).stdout, /created_by +local/)
    const rotated = (await keys('rotate', id, '--grace', '0')).stdout.trim()
    await until('the old secret to end', async () => (await status(secret)) === 401)
    assert.equal(await status(rotated), 200)
    assert.equal((await keys('revoke', id, '--yes')).code, 0)
    await until('the new secret to end', async () => (await status(rotated)) === 401)
    assert.equal((await keys('get', 'key_none')).code, 3)
    assert.equal((await keys('create', 'x', '--role', 'nonsense')).code, 2)
    const unknown = await keys('create', 'x', '--role', 'viewer', '--tier', 'nonsense')
    assert.equal(unknown.code, 2)
    assert.match(unknown.stderr, /must be one of free, pro, enterprise/)
  })

  test('--local wins over a key that is configured, and names the store, never the password of its database', async () => {
    const { code, stderr } = await shell.moorage(['keys', 'list', '--local'], {
      env: { ...env, MOORAGE_API_KEY: 'mrg_revoked', MOORAGE_URL: service().url },
    })
    assert.equal(code, 0, stderr)
    const store = engine === 'postgres' ? 'PostgreSQL' : join(service().data, 'moorage.db')
    assert.equal(stderr.split('\n')[0], `Using the local data directly (${store})`)
  })

  const status = async (key: string) => (await service().call('GET', '/v1/keys/self', { key })).status

  test('a second factor as in docs/security.md, next to a key that is configured', async () => {
    const { body } = await service().call('GET', '/v1/keys/self')
    const { id } = body.data
    const configured = { ...env, MOORAGE_URL: service().url, MOORAGE_API_KEY: service().admin }
    const through = await shell.moorage(['mfa', 'enrol', id], { env: configured })
    assert.equal(through.code, 4)
    assert.match(through.stderr, /requires --local, or .*\n.*moorage mfa enrol <key_id> --local/)
    assert.doesNotMatch(through.stderr, /X-Service-OTP/)
    const enrolled = await shell.moorage(['mfa', 'enrol', id, '--local'], { env: configured })
    assert.equal(enrolled.code, 0, enrolled.stderr)
    const secret = /secret=([A-Z2-7]+)/.exec(enrolled.stdout)?.[1] ?? ''
    const code = authenticator(service(), secret).code()
    const confirmed = await shell.moorage(['mfa', 'confirm', id, code, '--local'], { env: configured })
    assert.equal(confirmed.code, 0, confirmed.stderr)
    assert.match((await shell.moorage(['mfa', 'status', id], { env: configured })).stdout, /status +active/)
    assert.equal((await shell.moorage(['mfa', 'remove', id, '--yes', '--local'], { env: configured })).code, 0)
  })
})

onAnyEngine('moorage audit verify', (service) => {
  test('exit code 1 for a chain that does not hold, in words and as JSON', async () => {
    const shell = newShell()
    const parts = partsOf(service())
    const { url } = parts.config.database
    const env = { MOORAGE_DATA: service().data, ...(url && { DATABASE_URL: url }) }
    const verify = (...args: string[]) => shell.moorage(['audit', 'verify', ...args], { env })
    await until('a sealed entry', async () => {
      const { body } = await service().call('GET', '/v1/audit-log?limit=1')
      return body.data[0]?.seq
    })
    const whole = await verify('--json')
    assert.equal(whole.code, 0, whole.stderr)
    assert.equal(JSON.parse(whole.stdout).ok, true)

    await parts.storage.db.updateTable('audit_log').set({ actor: 'somebody else' }).where('seq', '=', 1).execute()
    const told = await verify()
    assert.deepEqual([told.code, told.stdout], [1, ''])
    assert.match(told.stderr, /Verification failed at entry 1: the entry was altered/)
    const { code, stdout } = await verify('--json')
    assert.equal(code, 1)
    assert.deepEqual(JSON.parse(stdout), { ok: false, seq: 1, problem: 'the entry was altered' })
    shell.remove()
  })
})

describe('moorage where there is no store', () => {
  test('makes none, and says where to look', async (t) => {
    const shell = newShell()
    t.after(() => shell.remove())
    const { code, stderr } = await shell.moorage(['keys', 'list'])
    assert.equal(code, 3)
    assert.match(stderr, /There is no Moorage data in .*data/)
    assert.equal(existsSync(join(shell.folder, 'data')), false)
  })
})

describe('moorage backup and restore', () => {
  const { service, shell } = shellOfNobody()
  let uploadedFile: string
  before(async () => {
    await service().call('POST', '/v1/agents', { body: { name: 'kept' } })
    const item = { content: 'the harbour master is called Ada', context: { user_id: 'u' } }
    await service().call('POST', '/v1/agents/kept/memory', { body: { items: [item] } })
    uploadedFile = await uploaded(service(), 'bytes of a client')
  })
  const moorage = (...args: string[]) => shell().moorage([...args])

  test('a backup of a busy service starts elsewhere with all its data', async (t) => {
    const writing = Promise.all(
      Array.from({ length: 40 }, (_, i) => service().call('POST', '/v1/agents', { body: { name: `busy-${i}` } })),
    )
    const made = await moorage('backup', 'one', '--data', service().data, '--include-master-key')
    assert.equal(made.code, 0, made.stderr)
    assert.equal(made.stdout, `${join(shell().folder, 'one')}\n`)
    await writing
    for (const name of ['moorage.db', 'master.key', 'manifest.json']) {
      assert.equal(statSync(join(shell().folder, 'one', name)).mode & 0o777, 0o600, name)
    }
    assert.equal((await moorage('backup', 'one', '--data', service().data)).code, 1)

    const restored = await moorage('restore', 'one', '--data', 'elsewhere')
    assert.equal(restored.code, 0, restored.stderr)
    assert.equal(statSync(join(shell().folder, 'elsewhere')).mode & 0o777, 0o700)
    const other = await startService('sqlite', { MOORAGE_DATA: join(shell().folder, 'elsewhere') })
    t.after(() => other.stop())
    const asAdmin = { key: service().admin }
    assert.equal((await other.call('GET', '/v1/agents/kept', asAdmin)).status, 200)
    const found = await other.call('POST', '/v1/agents/kept/memory/search', { ...asAdmin, body: { query: 'harbour' } })
    assert.deepEqual(
      found.body.data.map(({ content }: { content: string }) => content),
      ['the harbour master is called Ada'],
    )
    const { bytes } = await download(other, uploadedFile, asAdmin)
    assert.equal(bytes.toString(), 'bytes of a client')
  })

  test('a backup does not include files that were deleted before it', async () => {
    const gone = await uploaded(service(), 'gone before')
    await service().call('DELETE', `/v1/files/${gone}`)
    const made = await moorage('backup', 'two', '--data', service().data)
    assert.match(made.stderr, /with 1 file/)
    assert.equal(readdirSync(join(shell().folder, 'two/files')).length, 1)
  })

  test('a restore is refused while a service uses the data', async () => {
    const { code, stderr } = await moorage('restore', 'one', '--data', service().data, '--yes')
    assert.equal(code, 1)
    assert.match(stderr, /is in use\. Stop the service first\./)
    assert.equal((await service().call('GET', '/v1/agents/kept')).status, 200)
  })

  test('a restore over existing data asks first, and keeps a copy of it', async () => {
    assert.equal((await moorage('restore', 'one', '--data', 'elsewhere')).code, 2)
    const { code, stderr } = await moorage('restore', 'one', '--data', 'elsewhere', '--yes')
    assert.equal(code, 0, stderr)
    const [, kept = ''] = /The previous data was moved to (.*)/.exec(stderr) ?? []
    assert.ok(existsSync(kept))
  })

  describe('a restore over data damaged by a crash or a bad disk', () => {
    const garbage = Buffer.alloc(8192, 'not a database ')
    const leftovers: Record<string, string[]> = {
      'a damaged store': ['moorage.db'],
      'a damaged store with its log': ['moorage.db', 'moorage.db-wal', 'moorage.db-shm'],
      'the log of a store that is gone': ['moorage.db-wal', 'moorage.db-shm'],
    }
    for (const [what, files] of Object.entries(leftovers)) {
      test(`moves ${what} aside, and restores nothing from it`, async () => {
        const folder = join(shell().folder, what.replaceAll(' ', '-'))
        mkdirSync(folder)
        // Copied from a running service, as a crash would leave them.
        for (const file of files) copyFileSync(join(service().data, file), join(folder, file))
        if (files.includes('moorage.db')) writeFileSync(join(folder, 'moorage.db'), garbage)

        const { code, stderr } = await moorage('restore', 'one', '--data', folder, '--yes', '--running')
        assert.equal(code, 0, stderr)
        const there = readdirSync(folder).toSorted()
        assert.deepEqual(
          there.filter((name) => !name.includes('before-restore')),
          ['files', 'master.key', 'moorage.db'],
        )
        assert.ok(there.some((name) => name.includes('before-restore')))
        const [restored, backup] = [folder, join(shell().folder, 'one')].map((at) =>
          readFileSync(join(at, 'moorage.db')),
        )
        assert.ok(backup && restored?.equals(backup), 'with --running nothing is changed in it')
      })
    }
  })

  test('a restore without the right master key changes nothing', async () => {
    await moorage('backup', 'keyless', '--data', service().data)
    assert.equal(existsSync(join(shell().folder, 'keyless/master.key')), false)
    const { code, stderr } = await moorage('restore', 'keyless', '--data', 'empty')
    assert.equal(code, 1)
    assert.match(stderr, /master key of this backup was not found/)
    assert.equal(existsSync(join(shell().folder, 'empty')), false)
  })

  test('a restored copy is paused until it is resumed: it runs nothing and sends nothing', async (t) => {
    const inbox = await openInbox(t, (_arrival, _request, response) => response.writeHead(500).end())
    await withService(
      'sqlite',
      async (original) => {
        const hook = await createWebhook(original, { url: inbox.url })
        const agent = await newAgent(original)
        const body = { message: 'told once' }
        assert.equal((await original.call('POST', `/v1/agents/${agent}/invoke`, { body })).status, 200)
        await delivery(original, hook.id, 1)
        assert.equal((await moorage('backup', 'waiting', '--data', original.data, '--include-master-key')).code, 0)
        assert.match((await moorage('restore', 'waiting', '--data', 'copy')).stderr, /The service is paused/)

        const copy = await startService('sqlite', { ...LOCAL_RECEIVERS, MOORAGE_DATA: join(shell().folder, 'copy') })
        t.after(() => copy.stop())
        const ask = () => copy.call('POST', `/v1/agents/${agent}/invoke`, { key: original.admin, body })
        const refused = await ask()
        assert.equal(refused.body.error.code, 'agent_paused', refused.text)
        assert.match(refused.body.error.message, /Restored from the backup of 20/)
        pass(copy, 3_600_000)
        assert.deepEqual(await survey(storeOf(copy)), [], 'nothing is to be sent')
        const resumed = await copy.call('POST', '/v1/resume', { key: original.admin, body: { scope: 'service' } })
        assert.equal(resumed.status, 200, resumed.text)
        assert.equal((await ask()).status, 200)
        await inbox.first(2)
      },
      LOCAL_RECEIVERS,
    )
  })

  test('a service can start paused without a restore', async () => {
    await withService(
      'sqlite',
      async (paused) => {
        await paused.call('POST', '/v1/agents', { body: { name: 'still' } })
        const { body } = await paused.call('POST', '/v1/agents/still/invoke', { body: { message: 'go' } })
        assert.equal(body.error.code, 'agent_paused')
      },
      { MOORAGE_START_PAUSED: 'true' },
    )
  })

  test('a changed backup, or one with links among its files, is refused', async () => {
    const folder = join(shell().folder, 'forged')
    assert.equal((await moorage('backup', 'forged', '--data', service().data, '--include-master-key')).code, 0)
    const link = join(folder, 'files', 'blob_link')
    symlinkSync('/etc/hostname', link)
    assert.match((await moorage('restore', 'forged', '--data', 'nowhere')).stderr, /blob_link is not a regular file/)
    rmSync(link)
    const store = new DatabaseSync(join(folder, 'moorage.db'))
    store.exec("update keys set name = 'forged'")
    store.close()
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'))
    const sha256 = createHash('sha256')
      .update(readFileSync(join(folder, 'moorage.db')))
      .digest('hex')
    writeFileSync(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, sha256 }))
    assert.match((await moorage('restore', 'forged', '--data', 'nowhere')).stderr, /its seal doesn't match/)
    assert.equal(existsSync(join(shell().folder, 'nowhere')), false)
  })

  test('data of an unsupported version is not backed up, and no folder is created', async () => {
    const folder = join(shell().folder, 'older')
    mkdirSync(folder)
    const store = new DatabaseSync(join(folder, 'moorage.db'))
    store.exec("create table migrations (name text); insert into migrations values ('first-schema-0')")
    store.close()
    const { code, stderr } = await moorage('backup', 'of-older', '--data', folder)
    assert.equal(code, 1)
    assert.match(stderr, /older than the first release/)
    assert.equal(existsSync(join(shell().folder, 'of-older')), false)
  })

  test('a damaged or unfinished backup is refused', async () => {
    const file = join(shell().folder, 'keyless/moorage.db')
    writeFileSync(file, Buffer.concat([readFileSync(file), Buffer.from('x')]))
    assert.match((await moorage('restore', 'keyless', '--data', 'empty')).stderr, /SHA-256 doesn't match/)
    assert.equal((await moorage('restore', 'nothing', '--data', 'empty')).code, 3)
  })

  test("for PostgreSQL, backup and restore name PostgreSQL's own tools", async () => {
    const env = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }
    for (const [command, tool] of [
      [['backup'], /pg_dump/],
      [['restore', 'one'], /pg_restore/],
    ] as const) {
      const { code, stderr } = await shell().moorage([...command], { env })
      assert.equal(code, 2)
      assert.match(stderr, tool)
    }
  })
})

onAnyEngine('moorage doctor', (service) => {
  test('finds a healthy service healthy', async (t) => {
    const shell = newShell(service())
    t.after(() => shell.remove())
    const url = databaseUrl(service())
    const env = { MOORAGE_DATA: service().data, ...(url && { DATABASE_URL: url }) }
    const { code, stdout, stderr } = await shell.moorage(['doctor', '--json'], { env })
    assert.equal(code, 0, stdout + stderr)
    const findings = JSON.parse(stdout) as { check: string; status: string; detail: string }[]
    assert.deepEqual(
      findings.filter(({ status, check }) => status !== 'ok' && check !== 'disk'),
      [],
    )
    for (const check of ['store', 'master key', 'service', 'key']) {
      assert.ok(
        findings.some((finding) => finding.check === check),
        check,
      )
    }
  })
})

describe('moorage doctor where something is wrong', () => {
  test('names it, and exits with 1', async (t) => {
    const service = await startService('sqlite')
    t.after(() => service.stop())
    const shell = newShell({ ...service, admin: 'mrg_wrong' })
    t.after(() => shell.remove())
    chmodSync(service.data, 0o755)
    const env = { MOORAGE_DATA: service.data, MOORAGE_MASTER_KEY: '00'.repeat(32), REDIS_URL: 'redis://127.0.0.1:1' }
    const { code, stdout } = await shell.moorage(['doctor'], { env })
    assert.equal(code, 1)
    assert.match(stdout, /✖ data directory .* has mode 0755/)
    assert.match(stdout, /✖ master key .* has the fingerprint \w+, but the data is encrypted with/)
    assert.match(stdout, /✖ Redis .*ECONNREFUSED/)
    assert.match(stdout, /✖ key /)
    const mistaken = await shell.moorage(['doctor'], { env: { MOORAGE_NONSENSE: '1' } })
    assert.match(mistaken.stdout, /✖ configuration +environment MOORAGE_NONSENSE: unknown variable/)
  })
})
