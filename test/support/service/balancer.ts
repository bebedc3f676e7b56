import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

const LOOK_EVERY_MS = 150

export type Balancer = {
  url: string
  /** To how many nodes it would currently send a connection. */
  ready(): number
}

/**
 * A load balancer for TCP. Each new connection goes to the next node that was ready at the last check. It repairs
 * nothing: what breaks behind it also breaks in front of it. `nodes` return each node's current URL.
 */
export async function startBalancer(t: TestContext, nodes: readonly (() => string)[]): Promise<Balancer> {
  let ready: string[] = []
  let turn = 0
  const sockets = new Set<Socket>()
  const over = new AbortController()

  const look = async () => {
    const found = await Promise.all(nodes.map(async (node) => ((await isReady(node(), over.signal)) ? [node()] : [])))
    ready = found.flat()
  }
  const watch = async () => {
    while (!over.signal.aborted) {
      await look()
      await delay(LOOK_EVERY_MS, undefined, { signal: over.signal }).catch(() => {})
    }
  }

  const server = createServer({ allowHalfOpen: true }, (near) => {
    const target = ready[turn++ % Math.max(1, ready.length)]
    if (!target) return near.destroy()
    const { hostname, port } = new URL(target)
    const far = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    join(near, far)
    join(far, near)
  })
  const join = (from: Socket, to: Socket) => {
    sockets.add(from)
    from.on('error', () => to.resetAndDestroy())
    from.on('close', () => sockets.delete(from))
    from.pipe(to)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  await look()
  const watching = watch()
  t.after(async () => {
    over.abort()
    await watching
    for (const socket of sockets) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ready: () => ready.length }
}

async function isReady(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    // A node that is gone refuses immediately, and a node that is draining says so.
    const { ok } = await fetch(`${url}/readyz`, { headers: { Connection: 'close' }, signal })
    return ok
  } catch {
    return false
  }
}
