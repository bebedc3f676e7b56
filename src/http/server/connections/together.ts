import type { IncomingMessage, ServerResponse } from 'node:http'

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Begins the requests that arrive in one turn of the event loop together, at the end of that turn. Node hands over each
 * request from inside its parser, and then runs every promise and tick that waits before it reads the next socket. Requests
 * that begin together share that, and the next commit. A request that comes alone begins at once: its turn ends.
 */
export function together(handle: Handle): Handle {
  let arrived: [IncomingMessage, ServerResponse][] = []
  const begin = () => {
    const batch = arrived
    arrived = []
    for (const [request, response] of batch) handle(request, response)
  }
  return (request, response) => {
    if (arrived.push([request, response]) === 1) setImmediate(begin)
  }
}
