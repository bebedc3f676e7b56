import { setImmediate as turn } from 'node:timers/promises'

/**
 * Blocks this thread for a while, as if the machine had suspended it. Due timers then run before anything that has
 * arrived, because the event loop handles timers first.
 */
export async function standStill(ms: number): Promise<void> {
  await turn()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
