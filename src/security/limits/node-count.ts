import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'

const NODES = 'moorage:nodes'
const SAY_EVERY_MS = 1_000
/** A node that has not said for so long that it lives is not counted any more. */
const SILENT_MS = 5_000

/** KEYS[1] is the set of nodes; ARGV are this node and how long it counts, in ms. Returns how many there are. */
const SCRIPT = `
local clock = redis.call('TIME')
local time = clock[1] * 1000 + math.floor(clock[2] / 1000)
redis.call('ZADD', KEYS[1], time + ARGV[2], ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1])`

/** How many nodes share a Redis. While it does not answer, as many as it last said. */
export class NodeCount {
  readonly #redis: Redis
  readonly #name = randomUUID()
  readonly #timer: NodeJS.Timeout
  readonly #heard: (err?: unknown) => void
  #count = 1

  /** `heard` is called once a second, with an error if Redis did not answer. */
  constructor(redis: Redis, heard: (err?: unknown) => void) {
    this.#redis = redis
    this.#heard = heard
    this.#timer = setInterval(() => this.#say(), SAY_EVERY_MS).unref()
    redis.on('ready', () => this.#say())
  }

  get count(): number {
    return this.#count
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#redis.zrem(NODES, this.#name).catch(() => {})
  }

  async #say(): Promise<void> {
    try {
      this.#count = Number(await this.#redis.eval(SCRIPT, 1, NODES, this.#name, SILENT_MS))
      this.#heard()
    } catch (err) {
      this.#heard(err)
    }
  }
}
