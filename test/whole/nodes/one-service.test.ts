import assert from 'node:assert/strict'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { newShell } from '../../support/clients/cli.ts'
import { built } from '../../support/service/built.ts'
import { childEnv, startChild } from '../../support/service/child.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { namesOf } from '../../support/slices/resources.ts'

const START = [built('cli'), 'start', '--port=0']

/** What `moorage start` says and ends with; it is not expected to stay. */
async function startOn(data: string) {
  const env = { ...childEnv(), MOORAGE_DATA: data, HOME: dirname(data) }
  const child = startChild(process.execPath, START, { cwd: dirname(data), env, stdio: ['ignore', 'ignore', 'pipe'] })
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
  return { code, stderr }
}

describe('a SQLite store', () => {
  test('is served by one service: a second one on its folder stops, and the first continues', async (t) => {
    const service = await startChildService(t, 'sqlite')
    const words = `another Moorage process is using ${service.data}. Stop it first, or choose another folder with --data; to run several on one database, use PostgreSQL`
    assert.deepEqual(await startOn(service.data), { code: 1, stderr: `moorage: ${words}\n` })
    assert.equal((await service.call('GET', '/v1/agents')).pagination.total, 1)
  })

  test('is free again at once after kill -9, and after a stop', async (t) => {
    const service = await startChildService(t, 'sqlite')
    await service.kill()
    await service.start()
    assert.equal(await service.terminate(), 0)
    await service.start()
    assert.equal((await service.call('GET', '/v1/agents')).pagination.total, 1)
  })

  test('is open to the command line beside its service', async (t) => {
    const service = await startChildService(t, 'sqlite')
    const shell = newShell()
    t.after(() => shell.remove())
    const env = { MOORAGE_DATA: service.data }
    const created = await shell.moorage(['keys', 'create', '--name=beside', '--role=viewer'], { env })
    assert.equal(created.code, 0, created.stderr)
    const { data } = await service.call('GET', '/v1/keys')
    assert.ok(namesOf({ body: { data } }).includes('beside'))
  })
})
