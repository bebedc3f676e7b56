import type { ServerResponse } from 'node:http'

/**
 * Registers listeners that are called when the client has hung up before its answer was sent. An answer to HEAD ends
 * before the stream that GET would follow, so a listener ends that stream as well.
 */
export function hangUpOf(response: ServerResponse): (listener: () => void) => void {
  return (listener) => {
    if (response.destroyed) listener()
    else response.once('close', () => (response.writableFinished && response.req.method !== 'HEAD') || listener())
  }
}
