import { setImmediate as turn } from 'node:timers/promises'

/**
 * This thread does nothing else for a while, as if the machine had stopped it. What is due then comes before what has
 * arrived: timers are looked at first after this phase of the event loop.
 */
export async function standStill(ms: number): Promise<void> {
  await turn()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
