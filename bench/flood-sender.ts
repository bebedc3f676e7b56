import type { Socket } from 'node:net'
import { workerData } from 'node:worker_threads'
import { dial, type Load, requestSource } from './load.ts'

export type FloodData = { url: string; loads: Load[]; connections: number }

const { url, loads, connections } = workerData as FloodData
const { hostname, port } = new URL(url)
const sources = loads.map((load) => requestSource(url, load))
await Promise.all(Array.from({ length: connections }, (_, first) => flood(first)))

/** A flood does not mind how it is answered, and dials again when it is cut off. It ends with its thread. */
async function flood(first: number): Promise<void> {
  for (let next = first; ; next++) {
    await sendUntilClosed(await dial(hostname, Number(port)), () => sources[next++ % sources.length]?.())
  }
}

function sendUntilClosed(socket: Socket, next: () => Buffer | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const send = () => {
    const request = next()
    if (request) socket.write(request)
  }
  // Each piece of a reply counts as its end: what matters is that the service always has something to do.
  socket.on('data', send)
  socket.on('error', () => {})
  socket.once('close', () => resolve())
  send()
  return promise
}
