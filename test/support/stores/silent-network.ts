import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to PostgreSQL on which packets can get lost without a word: no socket notices. */
export async function startNetwork(target: URL) {
  const sockets = new Set<Socket>()
  let silent = false
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    const join = (from: Socket, to: Socket) => {
      sockets.add(from)
      from.on('data', (bytes) => silent || to.write(bytes))
      from.on('error', () => {})
      from.on('close', () => {
        sockets.delete(from)
        if (!silent) to.destroy()
      })
    }
    join(near, far)
    join(far, near)
  })
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    silence() {
      silent = true
    },
    /** New connections come through; those that lost a packet are of no use any more. */
    restore() {
      destroyAll()
      silent = false
    },
    async close() {
      destroyAll()
      await new Promise((closed) => server.close(closed))
    },
  }
}
