import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Redis } from 'ioredis'
import { readEvents } from '../support/clients/sse.ts'
import { liveRun, wireOf } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { type HeldRuns, holdRuns } from '../support/service/held-runs.ts'
import { type Service, startService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'
import { type RedisServer, startRedis } from '../support/stores/redis.ts'

/** What anybody may publish who reaches the same Redis. */
const STRANGE = [
  '{',
  'null',
  '5',
  '{"by":"me","kind":"follow"}',
  '{"by":"me","kind":"follow","runs":[null]}',
  'v1.AAAA',
]

describe('following runs with Redis', () => {
  let redis: RedisServer
  before(async () => {
    redis = await startRedis()
  })
  after(() => redis.close())

  test('works on another node, and sends nothing through the database', async (t) => {
    const here = await startService('postgres', { ...LOCAL_TOOLS, REDIS_URL: redis.url })
    const there = await here.beside()
    try {
      const held = await holdRuns(t, 'one two three four five six')
      await createAgent(here, 'teller', held.agent)
      await until('both nodes listen', () => countListeners(redis.url, 2))
      const carried: string[] = []
      wireOf(here)?.onMessage((message) => carried.push(message))
      await followElsewhere(here, there, held)
      assert.deepEqual(carried, [])
    } finally {
      await there.stop()
      await here.stop()
    }
  })

  test('encrypts messages, and ignores messages of other services', async (t) => {
    const here = await startService('postgres', { ...LOCAL_TOOLS, REDIS_URL: redis.url })
    const there = await here.beside()
    const client = new Redis(redis.url)
    const listener = new Redis(redis.url)
    try {
      const first = await holdRuns(t, 'the word is marzipan')
      await createAgent(here, 'teller', first.agent)
      await until('both nodes listen', () => countListeners(redis.url, 2))
      const [channel = ''] = (await client.pubsub('CHANNELS', 'moorage:runs:*')) as string[]
      const carried: string[] = []
      listener.on('message', (_channel, message) => carried.push(message))
      await listener.subscribe(channel)
      for (const message of STRANGE) await client.publish(channel, message)
      await followElsewhere(here, there, first)
      const own = carried.filter((message) => !STRANGE.includes(message))
      assert.ok(own.length > 0)
      assert.ok(!own.some((message) => /marzipan|teller|req_|follow/.test(message)), own.join('\n'))
      for (const message of STRANGE) await wireOf(here)?.publish(message)
      const second = await holdRuns(t)
      await here.call('PATCH', '/v1/agents/teller', { body: second.agent })
      await followElsewhere(here, there, second)
    } finally {
      client.disconnect()
      listener.disconnect()
      await there.stop()
      await here.stop()
    }
  })

  test('falls back to the receipt while Redis is down, and works again when it is back', async (t) => {
    const here = await startService('postgres', { ...LOCAL_TOOLS, REDIS_URL: redis.url })
    const there = await here.beside()
    try {
      const away = await holdRuns(t, 'told in the end')
      await createAgent(here, 'teller', away.agent)
      await until('both nodes listen', () => countListeners(redis.url, 2))
      await redis.stop()
      await followElsewhere(here, there, away, { hearsNothing: true })
      await redis.start()
      await until('both nodes listen again', () => countListeners(redis.url, 2))
      const back = await holdRuns(t)
      await here.call('PATCH', '/v1/agents/teller', { body: back.agent })
      await followElsewhere(here, there, back)
    } finally {
      await there.stop()
      await here.stop()
    }
  })
})

/** Whether so many nodes listen to a channel of runs. */
async function countListeners(url: string, nodes: number): Promise<boolean> {
  const client = new Redis(url)
  try {
    const [channel] = (await client.pubsub('CHANNELS', 'moorage:runs:*')) as string[]
    if (channel === undefined) return false
    const [, count] = (await client.pubsub('NUMSUB', channel)) as [string, number]
    return count === nodes
  } finally {
    client.disconnect()
  }
}

/** Begins a run on one of the nodes and follows it on the other, from before its first word to its end. */
async function followElsewhere(
  here: Service,
  there: Service,
  held: HeldRuns,
  { hearsNothing = false } = {},
): Promise<void> {
  const headers = { Prefer: 'respond-async' }
  const { body } = await here.call('POST', '/v1/agents/teller/invoke', { body: { message: 'go' }, headers })
  const { request_id } = body.data
  const runs = () => [here, there].find((node) => liveRun(node, request_id))
  const runner = await until('the run', runs)
  const follower = runner === here ? there : here
  const path = `/v1/agents/teller/invocations/${request_id}/stream`
  const response = await fetch(follower.url + path, { headers: { Authorization: `Bearer ${follower.admin}` } })
  const events: string[] = []
  if (hearsNothing) held.release()
  for await (const { event } of readEvents(response)) {
    events.push(event)
    held.release()
  }
  assert.deepEqual([events[0], events.at(-1)], ['start', 'done'])
  assert.ok(events.includes('delta'), events.join())
}
