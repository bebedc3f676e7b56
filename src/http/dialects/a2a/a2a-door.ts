import { AgentCard } from '@a2a-js/sdk'
import { JsonRpcTransportHandler, ServerCallContext, validateVersion } from '@a2a-js/sdk/server'
import { ApiError, badRequest, forbidden } from '../../../errors.ts'
import { isObject } from '../../../lib/json.ts'
import type { Operation } from '../../../operation.ts'
import { sha256 } from '../../../security/digest.ts'
import { PROTOCOL_LIMITS, parseJson } from '../../input/body.ts'
import { isKnown } from '../../input/request-headers.ts'
import type { CallRunner, ReceivedRequest, RenderedReply } from '../dialect.ts'
import { INTERNAL_ERROR, INVALID_PARAMS, requireShortNames } from '../json-rpc.ts'
import { OperationCalls } from '../operation-calls.ts'
import { A2aAgent } from './a2a-agent.ts'
import { toA2a } from './a2a-errors.ts'
import { agentCard } from './agent-card.ts'

/** How long a public card can be cached. Clients see a change of the agent after at most this time. */
const CARD_SECONDS = 60
const UNREADABLE = "The params don't match what the method requires."

type RpcReply = { jsonrpc: string; id: string | number | null; result?: unknown; error?: unknown }

/**
 * Serves A2A 1.0 over JSON-RPC. The official SDK implements the protocol, and its requests to an agent become calls.
 */
export async function serveA2a(
  operations: readonly Operation[],
  received: ReceivedRequest,
  runner: CallRunner,
): Promise<RenderedReply> {
  if (runner.isFromForeignPage) throw forbidden("This page's origin is not listed in security.cors.")
  const { bytes, message, request_id } = received
  const body = bytes && parseJson(bytes, PROTOCOL_LIMITS)
  if (!isObject(body)) throw badRequest('The body must be one JSON-RPC request.')
  const { id = null } = body as { id?: RpcReply['id'] }
  requireShortNames(id)
  let failure: ApiError | undefined
  const calls = new OperationCalls(operations, received, runner, (error) => {
    failure = error
  })
  const agent = new A2aAgent(calls)
  // The SDK doesn't know our errors, and reports an internal error with the runtime's message. If no call of ours has
  // failed, the SDK couldn't read the request.
  const known = (error: unknown) =>
    (error as { code?: number }).code === INTERNAL_ERROR ? ofCall(failure ?? badRequest(UNREADABLE), request_id) : error
  const errorOf = (error: unknown) =>
    error instanceof ApiError ? ofCall(error, request_id) : known(JsonRpcTransportHandler.mapToJSONRPCError(error))
  try {
    const requestedVersion = message.headers['a2a-version'] as string | undefined
    const context = new ServerCallContext({ ...(requestedVersion && { requestedVersion }) })
    validateVersion(context.requestedVersion, await agent.getAgentCard(), 'JSONRPC')
    const reply = await new JsonRpcTransportHandler(agent).handle(body, context)
    if (Symbol.asyncIterator in reply) return await stream(reply, id, errorOf)
    return json(reply.error ? { ...reply, error: known(reply.error) } : reply)
  } catch (error) {
    return json({ jsonrpc: '2.0', id, error: errorOf(error) })
  }
}

/** A public card. Proxies can cache it for a while too. */
export function renderCard({ message }: ReceivedRequest, runner: CallRunner): RenderedReply {
  const body = JSON.stringify(AgentCard.toJSON(agentCard(runner)))
  if (!runner.agent?.isCardPublic) return { status: 200, headers: {}, body }
  const ETag = `"${sha256(body)}"`
  // With a key, the same URL may mean another project's agent.
  const { authorization, cookie } = message.headers
  const who = authorization === undefined && cookie === undefined ? 'public' : 'private'
  const Vary = 'Authorization, Cookie, Moorage-Project, Origin'
  const headers = { ETag, 'Cache-Control': `${who}, max-age=${CARD_SECONDS}`, Vary }
  return isKnown(message.headers['if-none-match'], ETag)
    ? { status: 304, headers, body: '' }
    : { status: 200, headers, body }
}

/** The error of a call. The client has called a method, so an error in its request is an error in the params. */
function ofCall(error: ApiError, request_id: string) {
  const rpc = toA2a(error, request_id)
  return error.code === 'invalid_request' ? { ...rpc, code: INVALID_PARAMS } : rpc
}

/** An error before the first event is thrown; one after it is an event. */
async function stream(
  replies: AsyncGenerator<RpcReply, void>,
  id: RpcReply['id'],
  errorOf: (error: unknown) => unknown,
): Promise<RenderedReply> {
  const first = await replies.next()
  async function* lines() {
    try {
      if (!first.done) yield eventOf(first.value)
      for await (const reply of replies) yield eventOf(reply)
    } catch (error) {
      yield `event: error\n${eventOf({ jsonrpc: '2.0', id, error: errorOf(error) })}`
    }
  }
  const headers = { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' }
  return { status: 200, headers, body: '', lines: lines() }
}

function eventOf(reply: RpcReply): string {
  return `data: ${JSON.stringify(reply)}\n\n`
}

function json(reply: RpcReply): RenderedReply {
  return { status: 200, headers: {}, body: JSON.stringify(reply) }
}
