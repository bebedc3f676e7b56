import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { head } from '../clients/raw.ts'
import { childEnv, startChild } from '../service/child.ts'
import { nastyValues } from './nasty.ts'
import { type Path, withJsonAt } from './places.ts'

/** One request. Its body contains a nasty value, identified by its number, in one place. */
export type Attack = {
  method: string
  url: string
  headers: Record<string, string>
  nasty?: { body: unknown; path: Path; sample: unknown; element: unknown; number: number }
  /** Sends endless bytes instead, each in its own chunk. */
  inBytes?: true
}

/** The result, and the longest that a simultaneous health check took. */
export type Felt = { status: number; replyBytes: number; sentBytes: number; worstMs: number }

/** Some requests wait for something that never comes: a listener for an event, a stream for its end. */
const GIVE_UP_MS = 300

/** A process that sends attacks, and during each one health checks without a pause. */
export class Attacker {
  readonly #child: ChildProcess

  constructor() {
    this.#child = startChild(process.execPath, [import.meta.filename], {
      env: childEnv(),
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  }

  /** Builds the body, so that neither the service nor the health checks wait for that. */
  async prepare(attack: Attack): Promise<void> {
    this.#child.send({ prepare: attack })
    await once(this.#child, 'message')
  }

  /** Sends what was prepared. */
  async send(): Promise<Felt> {
    this.#child.send({ send: true })
    const [felt] = await once(this.#child, 'message')
    return felt as Felt
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return
    this.#child.disconnect()
    await once(this.#child, 'exit')
  }
}

if (process.argv[1] === import.meta.filename) work()

function work(): void {
  const agent = new Agent({ keepAlive: true })
  let prepared: { attack: Attack; body: Buffer | undefined } | undefined
  process.on('message', async (message: { prepare: Attack } | { send: true }) => {
    if ('prepare' in message) {
      prepared = { attack: message.prepare, body: bodyOf(message.prepare) }
      process.send?.('prepared')
    } else if (prepared) {
      process.send?.(await feel(prepared.attack, prepared.body, agent))
    }
  })
  process.once('disconnect', () => agent.destroy())
}

function bodyOf({ nasty }: Attack): Buffer | undefined {
  if (!nasty) return undefined
  const { body, path, sample, element, number } = nasty
  const value = [...nastyValues(sample, element)][number]
  return value && Buffer.from(withJsonAt(body, path, value.json()))
}

async function feel(attack: Attack, body: Buffer | undefined, agent: Agent): Promise<Felt> {
  const { method, url, headers } = attack
  let [isDone, worstMs] = [false, 0]
  const health = new URL('/healthz', url).href
  const watch = async () => {
    // One more check after the answer, because what the service does afterwards counts too.
    for (let isLast = false; !isLast; ) {
      isLast = isDone
      const began = performance.now()
      await exchange('GET', health, {}, undefined, agent)
      worstMs = Math.max(worstMs, performance.now() - began)
    }
  }
  await exchange('GET', health, {}, undefined, agent)
  const watched = watch()
  const answered = attack.inBytes ? sendBytes(attack) : exchange(method, url, headers, body, agent)
  const { status, replyBytes } = await answered.catch(() => GONE)
  isDone = true
  await watched
  return { status, replyBytes, sentBytes: body?.length ?? 0, worstMs }
}

/** A service may refuse a request without reading all of it. */
const GONE = { status: 0, replyBytes: 0 }

function exchange(
  method: string,
  url: string,
  headers: Record<string, string>,
  body: Buffer | undefined,
  agent: Agent,
): Promise<{ status: number; replyBytes: number }> {
  return new Promise((resolve, reject) => {
    const length = body && { 'Content-Length': String(body.length) }
    const sent = request(url, { method, agent, headers: { ...headers, ...length } }, (reply) => {
      let replyBytes = 0
      const end = () => resolve({ status: reply.statusCode ?? 0, replyBytes })
      reply.on('data', (chunk: Buffer) => {
        replyBytes += chunk.length
      })
      reply.once('error', end)
      reply.once('end', end)
      reply.once('close', end)
    })
    if (!url.endsWith('/healthz')) setTimeout(() => sent.destroy(new Error('no answer')), GIVE_UP_MS).unref()
    sent.once('error', reject)
    sent.end(body)
  })
}

const BYTES = Buffer.from('1\r\nx\r\n'.repeat(10_000))

/** Sends for `GIVE_UP_MS`, no matter what comes back. */
function sendBytes({ method, url, headers }: Attack): Promise<{ status: number; replyBytes: number }> {
  const { hostname, port, pathname } = new URL(url)
  const socket = connect(Number(port), hostname).setEncoding('latin1')
  let [reply, isOver] = ['', false]
  const send = (): unknown => isOver || socket.write(BYTES, send)
  socket.write(head(`${method} ${pathname}`, { ...headers, 'Transfer-Encoding': 'chunked' }), send)
  socket.on('data', (text) => {
    reply += text
  })
  return new Promise((resolve) => {
    const end = () => {
      isOver = true
      socket.resetAndDestroy()
      resolve({ status: Number(reply.split(' ')[1] ?? 0), replyBytes: reply.length })
    }
    socket.once('error', end).once('close', end)
    setTimeout(end, GIVE_UP_MS).unref()
  })
}
