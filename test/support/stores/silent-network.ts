import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A way to PostgreSQL on which packets can get lost without a word: no socket notices. */
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
    /** The answers to a commit wait until the test has looked at what it did. */
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
    /** The connection breaks after the next commit for which this is true, before its answer comes. */
    loseCommit(isMeant: () => Promise<boolean>) {
      isLost = isMeant
    },
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
