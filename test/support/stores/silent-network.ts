import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A connection to PostgreSQL on which packets can be lost silently, without any socket noticing. */
export async function startNetwork(target: URL) {
  const sockets = new Set<Socket>()
  let silent = false
  let isLost: (() => Promise<boolean>) | undefined
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname)
    let isCommitting = false
    near.on('data', (bytes) => {
      isCommitting = bytes.includes('commit')
    })
    /** The replies to a commit wait until the test has checked what it did. */
    const answer = async (bytes: Buffer | string) => {
      if (isCommitting && (await isLost?.())) {
        isLost = undefined
        near.destroy()
      } else near.write(bytes)
    }
    const join = (from: Socket, to: Socket) => {
      sockets.add(from)
      from.on('data', (bytes) => silent || (to === near ? answer(bytes) : to.write(bytes)))
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
    /** Breaks the connection after the next commit for which this is true, before its reply arrives. */
    loseCommit(isMeant: () => Promise<boolean>) {
      isLost = isMeant
    },
    silence() {
      silent = true
    },
    /** New connections work. Those that lost a packet can't be used any more. */
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
