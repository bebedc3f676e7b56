import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { storeOf } from '../../support/inside.ts'
import { troubleStore } from '../../support/invariants/watch-invariants.ts'
import { until } from '../../support/running/until.ts'
import { isAlive } from '../../support/service/child.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { withService } from '../../support/service/service.ts'

describe("SQLite's writer thread", () => {
  test('lives through a store that cannot be read for a while', () =>
    withService('sqlite', async (service) => {
      const create = (name: string) => service.call('POST', '/v1/agents', { body: { name } })
      assert.equal((await create('before')).status, 201)
      troubleStore(storeOf(service))
      const { forgetIndex, repair } = await damage(join(service.data, 'moorage.db'))
      await until('the damage shows', async () => {
        // A transaction that was in progress has written the index again.
        await forgetIndex()
        return (await service.call('GET', '/v1/webhooks')).status === 503
      })
      // The thread looks for foreign changes four times a second: it has met the damage by then.
      await delay(600)
      await repair()
      assert.equal((await service.call('GET', '/v1/agents/before')).status, 200)
      assert.equal((await create('after')).status, 201)
    }))

  test('stops the service, with the reason, if it dies all the same', async (t) => {
    const preload = new URL('../../support/service/end-thread.ts', import.meta.url).href
    const service = await startChildService(t, 'sqlite', { NODE_OPTIONS: `--import=${preload}` })
    await service.call('GET', '/v1/agents')
    const pid = service.pid()
    process.kill(pid, 'SIGUSR2')
    await until('the process has ended', () => !isAlive(pid))
    assert.match(service.output(), /moorage: the writer thread of SQLite has ended: /)
    await service.start()
    await service.call('GET', '/v1/agents')
  })
})

/**
 * A write-ahead log of a format that nobody knows, and no index of it: whoever reads must look at the log, and fails.
 * https://sqlite.org/fileformat2.html#walformat
 */
async function damage(path: string) {
  const whole = readFileSync(`${path}-wal`)
  const header = Buffer.from(whole.subarray(0, 32))
  header.writeUInt32BE(9_999_999, 4)
  const read = (header.readUInt32BE(0) & 1) === 1 ? 'readUInt32BE' : 'readUInt32LE'
  let [first, second] = [0, 0]
  for (let at = 0; at < 24; at += 8) {
    first = (first + header[read](at) + second) >>> 0
    second = (second + header[read](at + 4) + first) >>> 0
  }
  header.writeUInt32BE(first, 24)
  header.writeUInt32BE(second, 28)
  await write(`${path}-wal`, header)
  const forgetIndex = () => write(`${path}-shm`, Buffer.alloc(136))
  const repair = async () => {
    await write(`${path}-wal`, whole.subarray(0, 32))
    await forgetIndex()
  }
  return { forgetIndex, repair }
}

async function write(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'r+')
  await file.write(bytes, 0, bytes.length, 0)
  await file.close()
}
