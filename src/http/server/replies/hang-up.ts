import type { ServerResponse } from 'node:http'

/** Registers listeners that are called when the client has hung up before its answer was sent. */
export function hangUpOf(response: ServerResponse): (listener: () => void) => void {
  return (listener) => {
    if (response.destroyed) listener()
    else response.once('close', () => response.writableFinished || listener())
  }
}
