import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { stopApp, storeOf } from '../support/inside.ts'
import { type S3Server, startS3Server } from '../support/outside/s3-server.ts'
import { until } from '../support/running/until.ts'
import { ranAgain } from '../support/service/ran-again.ts'
import { type Service, STORY_ENGINES, startService } from '../support/service/service.ts'
import { download, untilStored, uploaded } from '../support/slices/files.ts'

const HOUR = 3_600_000

for (const engine of STORY_ENGINES) {
  describe(`stored files that can't be deleted, on ${engine}`, () => {
    let s3: S3Server
    before(async () => {
      s3 = await startS3Server()
    })
    after(() => s3.close())

    const remove = async (service: Service, id: string) => {
      const { status, text } = await service.call('DELETE', `/v1/files/${id}`)
      assert.equal(status, 200, text)
    }
    const erase = (service: Service, user_id: string) => service.call('DELETE', `/v1/users/${user_id}`)
    const of = (user_id: string) => ({ query: `?user_id=${user_id}` })

    test('if their bucket is no longer configured, other files are deleted and other users are erased', async () => {
      const service = await startService(engine)
      try {
        const withBucket = async (story: (node: Service) => Promise<void>) => {
          await stopApp(service)
          const node = await service.beside(s3.settings)
          await story(node).finally(() => node.stop())
          await service.restart()
        }
        let [ofBob, ofAda] = ['', '']
        await withBucket(async (node) => {
          ofBob = await uploaded(node, 'of bob', of('bob'))
          ofAda = await uploaded(node, 'of ada', of('ada'))
        })
        await remove(service, ofBob)
        const here = await uploaded(service, 'kept here')
        await remove(service, here)
        await untilStored(service, 0)

        await uploaded(service, 'of cyd', of('cyd'))
        const cyd = await erase(service, 'cyd')
        assert.deepEqual([cyd.status, cyd.body.data?.files], [200, 1], cyd.text)
        await untilStored(service, 0)

        const body = { name: 'hers', scope: { type: 'user', id: 'ada' }, limit: { runs: 5 }, per: 'ever' }
        const budget = await service.call('POST', '/v1/budgets', { body })
        assert.equal(budget.status, 201, budget.text)
        const refused = await erase(service, 'ada')
        assert.deepEqual([refused.status, refused.body.error?.code], [503, 'unavailable'], refused.text)
        const left = await service.call('GET', `/v1/budgets/${budget.body.data.id}`)
        assert.equal(left.status, 404, 'all but her bytes is erased')
        assert.equal((await erase(service, 'ada')).status, 503, 'her bytes are still there')

        await withBucket(async (node) => {
          const { status, text } = await erase(node, 'ada')
          assert.equal(status, 200, text)
          assert.equal((await download(node, ofAda)).status, 404)
          await ranAgain(node, 'retention', HOUR)
          await until('the bucket is empty', () => s3.objects.size === 0)
        })
        assert.equal((await erase(service, 'ada')).status, 200)
      } finally {
        await service.stop()
      }
    })

    test("are deleted by a later sweep, which finishes a user's erasure", async () => {
      const service = await startService(engine, s3.settings)
      try {
        await uploaded(service, 'of fay', of('fay'))
        for (const key of s3.objects.keys()) s3.locked.add(key)
        assert.equal((await erase(service, 'fay')).status, 503)
        s3.locked.clear()
        await ranAgain(service, 'retention', HOUR)
        await until('the bytes are gone', () => s3.objects.size === 0)
        const db = storeOf(service)
        await until('the rows are gone', async () => (await db.selectFrom('files').select('id').execute()).length === 0)
      } finally {
        await service.stop()
      }
    })

    test('do not prevent the deletion of others in the same bucket', async () => {
      const service = await startService(engine, s3.settings)
      try {
        const refused = []
        for (let i = 0; i < 60; i++) refused.push(await uploaded(service, `locked ${i}`))
        for (const key of s3.objects.keys()) s3.locked.add(key)
        const last = await uploaded(service, 'not locked')
        for (const id of [...refused, last]) await remove(service, id)
        await until('the last one is gone', () => s3.objects.size === 60)

        const mine = [
          await uploaded(service, 'one of dan', of('dan')),
          await uploaded(service, 'two of dan', of('dan')),
        ]
        const [locked = ''] = [...s3.objects.keys()].slice(-2)
        s3.locked.add(locked)
        assert.equal((await erase(service, 'dan')).status, 503)
        assert.deepEqual([s3.objects.size, s3.objects.has(locked)], [61, true])
        for (const id of mine) assert.equal((await service.call('GET', `/v1/files/${id}`)).status, 404)
        const listed = await service.call('GET', '/v1/files?user_id=dan')
        assert.deepEqual(listed.body.data, [], 'no file is listed whose bytes may be gone')
        assert.equal((await erase(service, 'eve')).status, 200)

        s3.locked.clear()
        const dan = await erase(service, 'dan')
        assert.deepEqual([dan.status, dan.body.data?.files], [200, 1], dan.text)
        await ranAgain(service, 'retention', HOUR)
        await until('all are gone', () => s3.objects.size === 0)
      } finally {
        await service.stop()
      }
    })
  })
}
