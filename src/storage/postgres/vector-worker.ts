import { parentPort, workerData } from 'node:worker_threads'
import { VectorComparison } from '../comparison.ts'
import { hearRows, openPool } from './postgres.ts'
import type { VectorReply, VectorRequest, VectorWorkerData } from './vector-thread.ts'

/** How many searches run at the same time. Others wait for a connection. */
const CONNECTIONS = 2

if (parentPort) serve(parentPort, workerData as VectorWorkerData)

function serve(port: NonNullable<typeof parentPort>, options: VectorWorkerData): void {
  const pool = openPool({ ...options, poolSize: CONNECTIONS })
  port.on('message', async ({ id, text, values, comparison }: VectorRequest) => {
    let reply: VectorReply
    try {
      const compared = new VectorComparison(comparison)
      await hearRows(pool, { text, values }, ({ seq, vector }) => compared.add(seq as number, vector as Buffer))
      reply = { id, result: compared.result() }
    } catch (error) {
      const { message, code } = error as Error & { code?: unknown }
      reply = { id, error: { message, code } }
    }
    port.postMessage(reply)
  })
}
