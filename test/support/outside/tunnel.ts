import { connect, createServer, type Server, type Socket } from 'node:net'
import { unusedPort } from '../stores/daemon.ts'

/** A fixed URL for a service that goes away and comes back, perhaps on another port. */
export type Tunnel = {
  url: string
  /** Breaks every connection and refuses new ones. */
  leave(): Promise<void>
  comeBack(target: string): Promise<void>
  /** Resolves when the service sends these words through it, from now on. */
  sent(words: string): Promise<void>
}

export async function openTunnel(target: string): Promise<Tunnel> {
  const port = await unusedPort()
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let onSent = (_piece: Buffer | string) => {}

  const tunnel: Tunnel = {
    url: `http://127.0.0.1:${port}`,
    async leave() {
      const closed = new Promise((resolve) => server?.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
    async comeBack(to) {
      const { hostname, port: targetPort } = new URL(to)
      server = createServer((near) => {
        const far = connect(Number(targetPort), hostname)
        for (const [socket, other] of [
          [near, far],
          [far, near],
        ] as const) {
          sockets.add(socket)
          socket.on('error', () => other.destroy())
          socket.on('close', () => {
            sockets.delete(socket)
            other.destroy()
          })
          socket.pipe(other)
        }
        far.on('data', (piece) => onSent(piece))
      })
      await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve))
    },
    sent: (words) =>
      new Promise((resolve) => {
        let all = ''
        onSent = (piece) => {
          all += piece
          if (!all.includes(words)) return
          onSent = () => {}
          resolve()
        }
      }),
  }
  await tunnel.comeBack(target)
  return tunnel
}
