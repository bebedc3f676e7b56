import type { Redis } from 'ioredis'
import type { Outage } from '../../lib/work/outage.ts'
import { within } from '../../lib/work/within.ts'
import { CLOCK_JUMP, type Decision, decide, MINUTE, type Rate, type RateLimiter } from './rate-limiter.ts'

/**
 * KEYS[1] is the bucket. ARGV are the interval (µs), the burst, the cost, and the difference (µs) above which a clock
 * is treated as having jumped. A bucket from before such a jump is ignored. A negative cost is given back. Returns the
 * bucket's state and Redis's own time, in µs.
 */
const SCRIPT = `
local clock = redis.call('TIME')
local time = clock[1] * 1000000 + clock[2]
local interval, burst, cost, jump = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local latest = time + burst * interval
local stored = tonumber(redis.call('GET', KEYS[1]) or 0) or 0
if not (stored <= latest + jump) then stored = 0 end
local start = math.min(math.max(stored, time), latest)
local granted = math.min(cost, math.floor((latest - start) / interval + 0.000001))
local full = start + granted * interval
if granted ~= 0 and full > time then
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - time) / 1000))
elseif granted ~= 0 then
  redis.call('DEL', KEYS[1])
end
return { string.format('%.0f', start), string.format('%.0f', time) }`

const PING_MS = 1_000
const ANSWER_WITHIN_MS = 500

type SharedLimiterOptions = {
  /** The name of this installation, because others may use the same Redis. */
  name: string
  local: RateLimiter
  outage: Outage
  /** How many nodes serve the same database. */
  nodes(): number
}

type LimitRequest = { rate: Rate; resolve: (decision: Decision) => void }

/**
 * One limit for all nodes. Requests with the same key in one pass of the event loop share a call. While Redis doesn't
 * respond, each node gives out its share of every limit, so all nodes together still keep it.
 */
export function sharedLimiter(redis: Redis, { name, local, outage, nodes }: SharedLimiterOptions): RateLimiter {
  const ping = () =>
    answered(redis.ping()).then(
      () => outage.works(),
      (err) => outage.failed(err),
    )
  const pinging = setInterval(ping, PING_MS).unref()
  redis.on('ready', ping)
  let asked = new Map<string, LimitRequest[]>()

  const run = (key: string, { perMinute, burst }: Rate, cost: number) => {
    const interval = (MINUTE / perMinute) * 1000
    return answered(redis.eval(SCRIPT, 1, `moorage:rate:${name}:${key}`, interval, burst, cost, CLOCK_JUMP * 1000))
  }

  const ask = async (key: string, waiting: LimitRequest[]) => {
    const { rate } = waiting[0] as LimitRequest
    const interval = MINUTE / rate.perMinute
    try {
      const reply = await run(key, rate, waiting.length)
      const [start, time] = (reply as [string, string]).map((microseconds) => Number(microseconds) / 1000) as [
        number,
        number,
      ]
      for (const [index, { resolve }] of waiting.entries()) {
        resolve(decide({ start, time, interval, burst: rate.burst, index }))
      }
    } catch (error) {
      outage.failed(error)
      for (const { rate: own, resolve } of waiting) resolve(await local.take(key, shareOf(own, nodes())))
    }
  }

  const askAll = () => {
    const batch = asked
    asked = new Map()
    for (const [key, waiting] of batch) void ask(key, waiting)
  }

  return {
    take: (key, rate) =>
      new Promise((resolve) => {
        if (asked.size === 0) setImmediate(askAll)
        const waiting = asked.get(key)
        if (waiting) waiting.push({ rate, resolve })
        else asked.set(key, [{ rate, resolve }])
      }),
    async giveBack(key, rate) {
      try {
        await run(key, rate, -1)
      } catch (error) {
        outage.failed(error)
        await local.giveBack(key, shareOf(rate, nodes()))
      }
    },
    async close() {
      clearInterval(pinging)
      redis.disconnect()
      await local.close()
    },
  }
}

/**
 * The share that one of several nodes gives out. At least one request is allowed, or the key could not be used on this
 * node at all.
 */
function shareOf({ perMinute, burst }: Rate, nodes: number): Rate {
  return { perMinute: perMinute / nodes, burst: Math.max(1, Math.floor(burst / nodes)) }
}

function answered<T>(answer: Promise<T>): Promise<T> {
  return within(ANSWER_WITHIN_MS, answer, () => new Error('Redis did not respond in time'))
}
