import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openFiles } from '../../src/files/attached-files.ts'
import { partsOf, storageOf } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import { ranAgain } from '../support/service/ran-again.ts'
import { inProject, onBothEngines } from '../support/service/service.ts'
import { download, storedBytes, untilSettled, untilStored, uploaded } from '../support/slices/files.ts'
import { idsOf } from '../support/slices/resources.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

onBothEngines(
  'files that expire',
  (service) => {
    const sweep = (ms: number) => ranAgain(service(), 'retention', ms)

    test('an expired file is not found, and is later deleted with its content', async () => {
      const id = await uploaded(service(), 'short-lived', { query: '?expires_in_seconds=600' })
      const { body } = await service().call('GET', `/v1/files/${id}`)
      assert.equal(Date.parse(body.data.expires_at) - Date.parse(body.data.created_at), 600_000)
      service().advance(500_000)
      assert.equal((await download(service(), id)).status, 200)
      service().advance(100_100)
      assert.equal((await service().call('GET', `/v1/files/${id}`)).status, 404)
      assert.equal((await download(service(), id)).status, 404)
      assert.deepEqual(idsOf(await service().call('GET', '/v1/files')), [])
      await sweep(HOUR)
      await untilStored(service(), 0)
    })

    test('the rest of an upload is deleted two hours after the process died, and not before', async () => {
      const storage = storageOf(service())
      const { bytes } = partsOf(service())
      const cut = await bytes.take('prj_default', pieces('never kept'))
      const kept = await uploaded(service(), 'kept')
      await sweep(HOUR + 60_000)
      assert.ok((await storedBytes(service())).includes(cut.id))
      await sweep(HOUR)
      await until('it is gone', async () => !(await storedBytes(service())).includes(cut.id))
      assert.equal((await download(service(), kept)).bytes.toString(), 'kept')
      await untilSettled(service())
      const rows = await storage.db.selectFrom('blobs').select('state').execute()
      assert.deepEqual(rows, [{ state: 'kept' }])
      await service().call('DELETE', `/v1/files/${kept}`)
      await untilStored(service(), 0)
    })

    test("an upload can't become a file after a sweep has deleted its content", async () => {
      const storage = storageOf(service())
      const { bytes } = partsOf(service())
      const late = await bytes.take('prj_default', pieces('too late'))
      await sweep(3 * HOUR)
      await untilStored(service(), 0)
      const { keep } = await import('../../src/storage/bytes/blobs.ts')
      assert.equal(await storage.transaction((db) => keep(db, late)), undefined)
    })

    test("a tool's file is deleted if the process died before the step was stored, and kept if a receipt names it", async () => {
      const parts = partsOf(service())
      const { body } = await service().call('POST', '/v1/agents/hello/invoke', { body: { message: 'hi' } })
      const { request_id } = body.data
      const of = { project_id: 'prj_default', user_id: null, agent_id: 'agt_1' }
      const maker = { ...of, request_id, created_by: 'key_1' }
      const make = (text: string) =>
        openFiles(parts).keep(maker, { pieces: pieces(text), media_type: 'text/plain', name: 'made.txt' })
      const [named, lost] = [await make('named'), await make('lost')]
      const steps = JSON.stringify([{ kind: 'tool', files: [named] }])
      await parts.storage.db.updateTable('invocations').set({ steps }).where('id', '=', request_id).execute()
      for (const hours of [1, 2]) {
        await sweep(hours * HOUR)
        await untilStored(service(), 1)
        assert.equal((await service().call('GET', `/v1/files/${lost.file_id}`)).status, 404)
        assert.equal((await download(service(), named.file_id)).bytes.toString(), 'named')
      }
      await service().call('DELETE', `/v1/files/${named.file_id}`)
      await untilStored(service(), 0)
    })

    test("retention.files and a project's limits.retention_days delete older files", async () => {
      await service().call('POST', '/v1/projects', { body: { name: 'brief', limits: { retention_days: 1 } } })
      const brief = inProject(service(), 'brief')
      const [short, long] = [await uploaded(brief, 'a day'), await uploaded(service(), 'ten days')]
      await sweep(1.1 * DAY)
      await untilStored(service(), 1)
      assert.equal((await brief.call('GET', `/v1/files/${short}`)).status, 404)
      assert.equal((await service().call('GET', `/v1/files/${long}`)).status, 200)
      await sweep(9 * DAY)
      await untilStored(service(), 0)
      assert.equal((await service().call('GET', `/v1/files/${long}`)).status, 404)
    })
  },
  { MOORAGE_RETENTION__FILES: '10d' },
)

async function* pieces(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text)
}
