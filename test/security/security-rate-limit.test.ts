import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { newKey } from '../../src/security/key-format.ts'
import { localLimiter } from '../../src/security/limits/rate-limiter.ts'
import { assertRefusal } from '../support/clients/refusal.ts'
import { partsOf } from '../support/inside.ts'
import { cpuTimeBelow } from '../support/running/cpu-time.ts'
import { standStill } from '../support/running/stand-still.ts'
import { until } from '../support/running/until.ts'
import { type Reply, type Service, startService } from '../support/service/service.ts'
import { createKey, later } from '../support/slices/resources.ts'
import { type RedisServer, startRedis } from '../support/stores/redis.ts'

const HOUR = 3_600_000
const FREE = { perMinute: 60, burst: 100 }
/** Tiers whose limits are reached soon. Those of `tiny` and `slow` do not pass soon, and that of `quick` at once. */
const SMALL_TIERS = {
  MOORAGE_LIMITS__TIERS: JSON.stringify({
    tiny: { requestsPerMinute: 1, burst: 10 },
    slow: { requestsPerMinute: 6, burst: 6 },
    brief: { requestsPerMinute: 60, burst: 10 },
    quick: { requestsPerMinute: 120, burst: 10 },
  }),
}

// Nothing here reaches the store, so one engine stands for both.
describe('rate limits', () => {
  let service: Service
  /** The clock is held unless a test advances it, so no requests become available meanwhile. */
  let time = Date.now()
  before(async () => {
    service = await startService('sqlite', SMALL_TIERS, {}, { now: () => time })
  })
  after(() => service.stop())
  const self = (key: string) => service.call('GET', '/v1/keys/self', { key })

  test('the tier free: 100 requests at once, then 429 until the time in the reply', async () => {
    const { secret } = await createKey(service, { role: 'viewer', tier: 'free' })
    const { replies } = await burst(130, () => self(secret))
    assert.equal(replies.filter(({ status }) => status === 200).length, 100)
    const refused = replies.find(({ status }) => status !== 200) as Reply
    assertRateLimited(refused, 60)
    time += refused.body.error.retry_after * 1000
    assert.equal((await self(secret)).status, 200)
  })

  test('the headers count down to zero, and never show more than the limit', async () => {
    const { secret } = await createKey(service, { role: 'viewer', tier: 'free' })
    const remaining: number[] = []
    for (let i = 0; i < 45; i++) {
      const { headers } = await self(secret)
      assert.equal(headers.get('x-ratelimit-limit'), '60')
      remaining.push(Number(headers.get('x-ratelimit-remaining')))
      const reset = Number(headers.get('x-ratelimit-reset')) - service.now() / 1000
      assert.ok(reset >= 0 && reset <= 101, `reset in ${reset} s`)
    }
    assert.equal(remaining[0], 60, 'a burst of 100 is there, 60 are shown')
    assert.ok((remaining.at(-1) as number) < 60)
    assert.ok(remaining.every((left, i) => i === 0 || left <= (remaining[i - 1] as number) + 1))
  })

  test('refused requests are not counted', async () => {
    const { secret } = await createKey(service, { role: 'viewer', tier: 'brief' })
    await burst(11, () => self(secret))
    const { replies } = await burst(20, () => self(secret))
    assert.ok(replies.every(({ status }) => status === 429))
    time += 1000
    assert.equal((await self(secret)).status, 200)
  })

  test('each key has its own limit; a rotated key keeps it', async () => {
    const [first, second] = [
      await createKey(service, { role: 'viewer', tier: 'brief' }),
      await createKey(service, { role: 'viewer', tier: 'brief' }),
    ]
    await burst(15, () => self(first.secret))
    const rotated = (await service.call('POST', `/v1/keys/${first.id}/rotate`)).body.data.secret
    assert.equal((await self(second.secret)).status, 200)
    const { replies } = await burst(5, () => self(rotated))
    assert.ok(replies.every(({ status }) => status === 429))
  })

  test('failed requests are counted, too, so guessing IDs is limited', async () => {
    const { secret: key } = await createKey(service, { role: 'viewer', tier: 'brief' })
    const { replies } = await burst(15, () => service.call('GET', '/v1/agents/nobody', { key }))
    assert.equal(replies.filter(({ status }) => status === 404).length, 10)
  })

  test('the tier pro: 2000 requests at once', async () => {
    const { secret } = await createKey(service, { role: 'viewer', tier: 'pro' })
    const { replies } = await burst(150, () => self(secret))
    assert.ok(replies.every(({ status }) => status === 200))
    assert.equal(replies[0]?.headers.get('x-ratelimit-limit'), '1000')
  })

  test('a clock that jumps an hour in either direction blocks no one', async () => {
    const { secret } = await createKey(service, { role: 'viewer', tier: 'brief' })
    for (const jump of [HOUR, -HOUR, -HOUR, HOUR]) {
      await burst(15, () => self(secret))
      time += jump
      const { status, headers, body } = await self(secret)
      if (status === 429) assert.ok(body.error.retry_after >= 1 && body.error.retry_after <= 2, body.error.retry_after)
      const reset = Number(headers.get('x-ratelimit-reset')) - service.now() / 1000
      assert.ok(reset >= 0 && reset <= 11, `reset in ${reset} s`)
    }
  })

  test('a different X-Forwarded-For with each wrong key does not evade the limit on wrong keys', async () => {
    const tries = Array.from({ length: 60 }, (_, i) =>
      service.call('GET', '/v1/agents', {
        key: newKey(randomBytes),
        headers: { 'X-Forwarded-For': `192.0.2.${i}`, Forwarded: `for=192.0.2.${i}`, 'X-Real-IP': `192.0.2.${i}` },
      }),
    )
    const statuses = (await Promise.all(tries)).map(({ status }) => status)
    assert.ok(statuses.filter((status) => status === 429).length >= 25, String(statuses))
  })
})

describe('the limiter in this process', () => {
  const at = (start: number) => {
    let time = start
    const limiter = localLimiter(() => time)
    return {
      take: () => limiter.take('key', FREE),
      giveBack: () => limiter.giveBack('key', FREE),
      wait: (ms: number) => {
        time += ms
      },
    }
  }

  test('what is given back can be taken once more', async () => {
    const { take, giveBack } = at(1_000_000)
    await giveBack()
    for (let i = 0; i < 100; i++) await take()
    await giveBack()
    assert.deepEqual([(await take()).allowed, (await take()).allowed], [true, false])
  })

  test('allows exactly 100 of 101 simultaneous requests, and one more after each second', async () => {
    const { take, wait } = at(1_000_000)
    const first = await Promise.all(Array.from({ length: 101 }, take))
    assert.equal(first.filter(({ allowed }) => allowed).length, 100)
    assert.deepEqual(first[0], { allowed: true, remaining: 99, reset_at: 1_001_000, retry_after_ms: 0 })
    assert.deepEqual(first[100], { allowed: false, remaining: 0, reset_at: 1_100_000, retry_after_ms: 1000 })
    wait(999)
    assert.equal((await take()).allowed, false)
    wait(1)
    assert.deepEqual([(await take()).allowed, (await take()).allowed], [true, false])
  })

  test('tens of thousands of clients do not slow each other down', () => {
    const limiter = localLimiter(() => 1_000_000)
    for (let i = 0; i < 60_000; i++) limiter.take(`client-${i}`, FREE)
    const took = cpuTimeBelow(1_000, () => {
      for (let i = 0; i < 10_000; i++) limiter.take(`client-${i}`, FREE)
    })
    const each = took / 10_000
    assert.ok(each < 0.1, `${each} ms a decision`)
  })

  test('with more clients than it can store, it remembers the most recent ones', async () => {
    const limiter = localLimiter(() => 1_000_000)
    const remaining = async (key: string) => (await limiter.take(key, FREE)).remaining
    assert.equal(await remaining('silent'), 99)
    assert.equal(await remaining('busy'), 99)
    for (let i = 0; i < 199_998; i++) limiter.take(`client-${i}`, FREE)
    assert.equal(await remaining('busy'), 98)
    limiter.take('one more', FREE)
    assert.equal(await remaining('busy'), 97)
    assert.equal(await remaining('silent'), 99, 'forgotten')
  })

  test('60 per minute allows no more than that over 20,000 seconds', async () => {
    const { take, wait } = at(0)
    let passed = 0
    for (let i = 0; i < 40_000; i++) {
      if ((await take()).allowed) passed++
      wait(500)
    }
    assert.ok(passed >= 20_000 && passed <= 20_100, `${passed}`)
  })

  for (const jump of [HOUR, -HOUR, -5, 5]) {
    test(`a jump of ${jump} ms makes no wait negative or long`, async () => {
      const { take, wait } = at(10 * HOUR)
      for (let i = 0; i < 150; i++) await take()
      wait(jump)
      const { retry_after_ms, remaining } = await take()
      assert.ok(retry_after_ms >= 0 && retry_after_ms <= 1010, `${retry_after_ms}`)
      assert.ok(remaining >= 0 && remaining < 100, `${remaining}`)
    })
  }
})

describe('two nodes that share a Redis', () => {
  let redis: RedisServer
  let first: Service
  let second: Service
  before(async () => {
    redis = await startRedis()
    first = await startService('postgres', { REDIS_URL: redis.url, ...SMALL_TIERS })
    second = await first.beside()
    await untilTogether()
  })
  after(async () => {
    await second.stop()
    await first.stop()
    await redis.close()
  })
  const untilTogether = () =>
    until('a key that one node refuses is refused by the other', async () => {
      const { secret: key } = await createKey(first, { role: 'viewer', tier: 'tiny' })
      await burst(15, () => first.call('GET', '/v1/keys/self', { key }))
      return (await second.call('GET', '/v1/keys/self', { key })).status === 429
    })
  const onBoth = (key: string) => {
    let turn = 0
    return () => (turn++ % 2 === 0 ? first : second).call('GET', '/v1/keys/self', { key })
  }

  test('share one limit: of 200 simultaneous requests, 100 pass, plus refills', async () => {
    const { secret } = await createKey(first, { role: 'viewer', tier: 'free' })
    const { replies, refilled } = await burst(200, onBoth(secret))
    const passed = replies.filter(({ status }) => status === 200).length
    assert.ok(passed >= 100 && passed <= 100 + refilled, `${passed} passed`)
    assertRateLimited(replies.find(({ status }) => status === 429) as Reply, 60)
  })

  test('allow a burst completely, and not one request more', async () => {
    for (const count of [10, 11, 25]) {
      const { secret } = await createKey(first, { role: 'viewer', tier: 'tiny' })
      const { replies } = await burst(count, onBoth(secret))
      assert.equal(replies.filter(({ status }) => status === 200).length, 10, `of ${count}`)
      assert.equal((await second.call('GET', '/v1/keys/self', { key: secret })).status, 429)
    }
  })

  test('what one node gives back can be taken once more on the other', async () => {
    const rate = { perMinute: 1, burst: 10 }
    const [here, there] = [partsOf(first).limiter, partsOf(second).limiter]
    await here.giveBack('given back', rate)
    for (let i = 0; i < 10; i++) assert.ok((await here.take('given back', rate)).allowed)
    await here.giveBack('given back', rate)
    const taken = [await there.take('given back', rate), await there.take('given back', rate)]
    assert.deepEqual(
      taken.map(({ allowed }) => allowed),
      [true, false],
    )
  })

  test('refused requests do not extend the wait', async () => {
    const { secret } = await createKey(first, { role: 'viewer', tier: 'quick' })
    const { replies } = await burst(100, onBoth(secret))
    assert.ok(replies.filter(({ status }) => status === 429).length > 10)
    const isLetIn = async () => (await second.call('GET', '/v1/keys/self', { key: secret })).status === 200
    await until('a request passes', isLetIn, 5_000)
  })

  test('do not treat Redis as down because they were suspended themselves', async () => {
    const { secret } = await createKey(first, { role: 'viewer', tier: 'tiny' })
    const warnings = () => (first.log() + second.log()).match(/Redis isn't responding/g)?.length
    const told = warnings()
    const asked = burst(25, onBoth(secret))
    for (let i = 0; i < 4; i++) await standStill(600)
    await asked
    assert.equal(warnings(), told)
  })

  test('continue separately while Redis is down, and together when it is back', async () => {
    const { secret } = await createKey(first, { role: 'viewer', tier: 'pro' })
    const running = burst(100, onBoth(secret))
    await redis.stop()
    const during = await running
    assert.deepEqual([...new Set(during.replies.map(({ status }) => status))], [200])
    assert.match(first.log() + second.log(), /Redis isn't responding/)

    const alone = await createKey(first, { role: 'viewer', tier: 'free' })
    const warnings = () => first.log().match(/Redis isn't responding/g)?.length
    const told = warnings() ?? 0
    const each = await burst(130, () => first.call('GET', '/v1/keys/self', { key: alone.secret }))
    const passed = each.replies.filter(({ status }) => status === 200).length
    assert.ok(passed >= 50 && passed <= 50 + each.refilled, `${passed} passed on one of two nodes`)
    const slow = await createKey(first, { role: 'viewer', tier: 'slow' })
    const granted = async () => {
      const { replies } = await burst(10, () => first.call('GET', '/v1/keys/self', { key: slow.secret }))
      return replies.filter(({ status }) => status === 200).length
    }
    assert.equal(await granted(), 3, 'half of the burst')
    assert.equal(await later(first, 20_000, granted), 1, 'half of what comes back in 20 s')
    assert.equal(warnings(), told, 'an outage that goes on is not told with every request')
    await later(first, 60_000, () => first.call('GET', '/v1/keys/self'))
    assert.equal(warnings(), told + 1, 'it is told again after a minute')

    await redis.start()
    await untilTogether()
  })
})

/** Sends this many at once. `refilled` is how many requests could have become available meanwhile in the tier free. */
async function burst(count: number, send: () => Promise<Reply>): Promise<{ replies: Reply[]; refilled: number }> {
  const started = performance.now()
  const replies = await Promise.all(Array.from({ length: count }, send))
  return { replies, refilled: Math.ceil((performance.now() - started) / 1000) }
}

function assertRateLimited({ status, headers, body }: Reply, limit: number): void {
  const { retry_after } = body.error
  assert.ok(Number.isInteger(retry_after) && retry_after >= 1 && retry_after <= 2, retry_after)
  assertRefusal({ status, headers, body }, 429, 'rate_limited', { retry_after })
  assert.equal(headers.get('retry-after'), String(retry_after))
  assert.equal(headers.get('x-ratelimit-limit'), String(limit))
  assert.equal(headers.get('x-ratelimit-remaining'), '0')
}
