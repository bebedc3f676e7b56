import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../running/until.ts'
import { childEnv, startChild } from '../service/child.ts'
import { startLocalServer } from './local-server.ts'

const PROGRAM = fileURLToPath(new URL('killed-remote.ts', import.meta.url))

/** Knows where the runs of `killed-remote.ts` are, stops them there, and counts what they do. */
export async function startControl(t: TestContext) {
  /** Where a message is stopped, and until when. `tool` is the tool that it calls. */
  const held = new Map<string, { name: string; released: PromiseWithResolvers<void> }>()
  const counts = new Map<string, number>()
  let mayDie = false
  const count = (what: string) => {
    counts.set(what, (counts.get(what) ?? 0) + 1)
    return counts.get(what)
  }
  const server = await startLocalServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://control')
    const message = searchParams.get('message') ?? ''
    const name = searchParams.get('name') ?? pathname.slice(1)
    const number = count(`${message} ${name}`)
    const hold = held.get(message)
    if (hold?.name === name) {
      count(`${message} is held`)
      await Promise.race([hold.released.promise, once(response, 'close')])
    }
    if (name === 'tool') response.end('calm')
    else response.end(name === 'final' && mayDie ? 'die' : String(number))
  })
  t.after(() => server.close())
  return {
    url: server.url,
    hold: (message: string, name: string) => held.set(message, { name, released: Promise.withResolvers() }),
    isHeld: (message: string) => counts.has(`${message} is held`),
    /** How often the message has reached a point, its tool was called or its value was made. */
    count: (message: string, name: string) => counts.get(`${message} ${name}`) ?? 0,
    /** Lets this message continue, or all messages, and doesn't stop them any more. */
    release(message?: string) {
      for (const one of message === undefined ? [...held.keys()] : [message]) {
        held.get(one)?.released.resolve()
        held.delete(one)
      }
    },
    /** Never releases what is stopped now, and stops nothing else. */
    forget: () => held.clear(),
    /** From now on, the process ends itself with the last event of an answer. */
    letDie(may: boolean) {
      mayDie = may
    },
  }
}

/** Starts the agent in its own process. Resolves with its URL. */
export async function startKilledRemote(t: TestContext, control: string, secret: string) {
  const env = { ...childEnv(), CONTROL: control, AGENT_SECRET: secret }
  const child = startChild(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const gone = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await gone
  })
  const [told] = await once(child.stdout as NonNullable<typeof child.stdout>, 'data')
  return { port: Number(/port: (\d+)/.exec(String(told))?.[1]), gone }
}

/** A URL that stays the same no matter what listens behind it. While nothing does, connections are refused. */
export async function startForwarder(t: TestContext) {
  let port: number | undefined
  let refused = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    if (port === undefined) {
      refused += 1
      socket.resetAndDestroy()
      return
    }
    const behind = connect(port, '127.0.0.1')
    behind.on('error', () => {})
    behind.on('close', () => socket.destroy())
    socket.on('close', () => behind.destroy())
    behind.pipe(socket)
    socket.pipe(behind)
    sockets.add(socket)
  })
  const sockets = new Set<{ destroy(): void }>()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo(next: number | undefined) {
      port = next
    },
    refusal: () => until('a connection is refused', () => refused > 0),
  }
}
