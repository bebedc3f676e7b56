import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { type Service, startService } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'
import { type RedisServer, startRedis } from '../support/stores/redis.ts'

const HOUR_US = 3_600_000_000

describe('two installations that use one Redis', () => {
  let redis: RedisServer
  let client: Redis
  let first: Service
  let second: Service
  before(async () => {
    redis = await startRedis()
    client = new Redis(redis.url)
    const tiers = { MOORAGE_LIMITS__TIERS: JSON.stringify({ tiny: { requestsPerMinute: 1, burst: 3 } }) }
    first = await startService('sqlite', { REDIS_URL: redis.url, ...tiers })
    second = await startService('sqlite', { REDIS_URL: redis.url, ...tiers })
  })
  after(async () => {
    client.disconnect()
    await first.stop()
    await second.stop()
    await redis.close()
  })
  const ask = async (service: Service, key: string) => (await service.call('GET', '/v1/keys/self', { key })).status
  const bucketsOf = (key_id: string) => client.keys(`moorage:*${key_id}*`)

  test('wrong keys sent to one are not counted by the other', async () => {
    const wrong = 'mk_wrong'
    const failures = []
    for (let i = 0; i < 40; i++) failures.push(await ask(first, wrong))
    assert.equal(failures.at(-1), 429)
    assert.equal(await ask(second, wrong), 401)
  })

  test('a bucket far in the future is ignored, as after a clock was set back', async () => {
    const { id, secret } = await createKey(first, { role: 'viewer', tier: 'tiny' })
    assert.equal(await ask(first, secret), 200)
    const [bucket = '', another] = await bucketsOf(id)
    assert.ok(bucket !== '' && another === undefined, 'one bucket')
    const stored = Number(await client.get(bucket))
    for (const value of [String(stored + HOUR_US), '1e300', 'inf', 'no number']) {
      await client.set(bucket, value, 'PX', 3_600_000)
      assert.equal(await ask(first, secret), 200, value)
      assert.ok(Number(await client.get(bucket)) < stored + HOUR_US, 'it is replaced')
    }
    assert.equal(await ask(first, secret), 200)
    assert.equal(await ask(first, secret), 200)
    assert.equal(await ask(first, secret), 429)
  })
})
