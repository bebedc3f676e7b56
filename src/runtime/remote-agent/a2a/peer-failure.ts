import { A2AError } from '@a2a-js/sdk/errors'
import { AgentFailure } from '../../outcome.ts'
import { NotAnAnswer } from '../../providers/protocols/read-events.ts'
import { BadStatus } from '../../providers/provider-failure.ts'
import { failureOf } from '../remote-exchange.ts'

/** Rethrows the A2A client's errors as our own kinds of errors. */
export async function* fromPeer<Event>(events: AsyncIterable<Event>): AsyncGenerator<Event> {
  try {
    yield* events
  } catch (error) {
    throw peerError(error)
  }
}

/** An error of the A2A client without a more specific kind is about what the agent has sent. */
export function peerError(error: unknown): unknown {
  // The client wraps errors that arrive in a stream.
  const { cause, message } = Object(error) as { cause?: unknown; message?: unknown }
  if (cause instanceof A2AError) return cause
  return isOfAgent(error) ? error : new NotAnAnswer(String(message))
}

const KINDS = [A2AError, AgentFailure, BadStatus, NotAnAnswer]

/** Whether the error is about the agent or the network, and not a bug of ours. */
function isOfAgent(error: unknown): boolean {
  return KINDS.some((kind) => error instanceof kind) || isOfNetwork(error)
}

/** Whether a retry may reach the agent a moment later. */
export function isPassing(error: unknown): boolean {
  return error instanceof BadStatus ? error.isPassing : isOfNetwork(error)
}

/** The guarded client's codes are lower case. Node's own codes, such as ERR_INVALID_ARG_TYPE, point to bugs of ours. */
function isOfNetwork(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown }
  return typeof code === 'string' && /^[a-z_]+$/.test(code)
}

/**
 * Converts an error of the agent into a failure. What the agent's server says about its own problems goes to the log,
 * never to the client. Errors that don't come from the agent are returned unchanged.
 */
export function failureIn(error: unknown, now: () => number, hasSpoken: boolean): unknown {
  if (error instanceof A2AError) {
    const what = `The remote agent answered with the error ${error.reason}.`
    return new AgentFailure(what.slice(0, 200), { remote_message: error.message })
  }
  return isOfAgent(error) ? failureOf(error, now, hasSpoken) : error
}
