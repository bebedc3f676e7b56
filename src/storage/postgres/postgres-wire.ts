import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { messageChannel } from './change-listener.ts'

/** A PostgreSQL notification has fewer than 8000 bytes. */
const PART_BYTES = 5_000
/** Incomplete messages are dropped, oldest first. */
const MAX_UNFINISHED = 100

type PartialMessage = { parts: string[]; missing: number }

/** Carries messages between nodes as PostgreSQL notifications. Long messages are sent in parts. */
export class PostgresWire {
  readonly #listeners: ((message: string) => void)[] = []
  readonly #unfinished = new Map<string, PartialMessage>()

  readonly onMessage = (listener: (message: string) => void): void => {
    this.#listeners.push(listener)
  }

  async publish(db: Database, message: string): Promise<void> {
    for (const part of partsOf(message)) {
      await sql`select pg_notify(${messageChannel}, ${part})`.execute(db)
    }
  }

  hear(part: string): void {
    const [id = '', index = '', count = '', text = ''] = part.split(' ', 4)
    const unfinished = this.#unfinished.get(id) ?? { parts: [], missing: Number(count) }
    this.#unfinished.set(id, unfinished)
    unfinished.parts[Number(index)] = text
    unfinished.missing--
    if (unfinished.missing === 0) this.#finish(id, unfinished)
    const [oldest] = this.#unfinished.keys()
    if (oldest !== undefined && this.#unfinished.size > MAX_UNFINISHED) this.#unfinished.delete(oldest)
  }

  #finish(id: string, { parts }: PartialMessage): void {
    this.#unfinished.delete(id)
    const message = Buffer.concat(parts.map((part) => Buffer.from(part, 'base64'))).toString()
    for (const listener of this.#listeners) listener(message)
  }
}

/** Splits a message into parts. Each contains the message's ID, its own position and the number of parts. */
function partsOf(message: string): string[] {
  const bytes = Buffer.from(message)
  const count = Math.ceil(bytes.length / PART_BYTES)
  const id = randomUUID()
  return Array.from({ length: count }, (_none, index) => {
    const part = bytes.subarray(index * PART_BYTES, (index + 1) * PART_BYTES)
    return `${id} ${index} ${count} ${part.toString('base64')}`
  })
}
