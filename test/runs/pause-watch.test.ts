import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import { PauseWatch } from '../../src/pauses/pause-watch.ts'
import { DEFAULT_PROJECT } from '../../src/storage/tables/project-tables.ts'
import { partsOf, storageOf } from '../support/inside.ts'
import { startService } from '../support/service/service.ts'

test('a run that starts after a pause has ended is not stopped by a node that still sees the pause', async (t) => {
  const service = await startService('sqlite')
  t.after(() => service.stop())
  assert.equal((await service.call('POST', '/v1/pause', { body: { reason: 'a loop' } })).status, 200)

  const storage = storageOf(service)
  const [read, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let reads = 0
  const slowAtFirst: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      reads++
      if (reads > 1) return result
      read.resolve()
      await goOn.promise
      return result
    },
  }
  const slow = { ...storage, db: storage.db.withPlugin(slowAtFirst) }
  const watch = new PauseWatch({ findProject: partsOf(service).findProject, storage: slow })
  const checking = watch.check()
  await read.promise
  assert.equal((await service.call('POST', '/v1/resume', { body: {} })).status, 200)
  const { paused, release } = await watch.watch(DEFAULT_PROJECT)
  goOn.resolve()
  await checking
  assert.equal(paused.cancelled, false)
  release()
})
