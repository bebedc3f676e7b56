import type { IncomingMessage, ServerResponse } from 'node:http'

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Collects the requests that arrive in one pass of the event loop and begins them together at the end of the pass. Node
 * hands over each request from inside its parser, and runs every waiting promise before it reads the next socket.
 * Requests that begin together do that once, and share the next commit. A request that comes alone hardly waits,
 * because the pass ends with it.
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
