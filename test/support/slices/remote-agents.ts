import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { type AgentHandler, serveAgent, toNodeHandler } from '../../../sdk/client.ts'
import { type LocalServer, readBody, startLocalServer } from '../outside/local-server.ts'
import { newAgent } from '../service/agents.ts'
import type { Service } from '../service/service.ts'

const REMOTE_SECRET = `whsec_${Buffer.from('the secret of the remote agents').toString('base64')}`

export type RemoteServer = LocalServer & {
  /** Sets the handler that answers from now on. */
  answer(handler: AgentHandler): void
  /** How often it was called since `answer`. */
  calls(): number
}

/** A server of a remote agent, made with the SDK. It uses its service's clock, which a test can move. */
export async function startRemote(now: () => number = Date.now, send: typeof fetch = fetch): Promise<RemoteServer> {
  let handler: AgentHandler = () => undefined
  let calls = 0
  const serve = serveAgent(
    (run) => {
      calls += 1
      return handler(run)
    },
    { secret: REMOTE_SECRET, now, fetch: send },
  )
  const server = await startLocalServer(toNodeHandler(serve))
  return {
    ...server,
    answer(next) {
      handler = next
      calls = 0
    },
    calls: () => calls,
  }
}

/** What the service needs to sign its calls. */
export const SIGNING_SECRET = { value: REMOTE_SECRET, hosts: ['127.0.0.1'] }

export async function setRemoteSecret(service: Pick<Service, 'call'>): Promise<void> {
  const body = SIGNING_SECRET
  const reply = await service.call('PUT', '/v1/secrets/REMOTE', { body })
  assert.equal(reply.status, 200, reply.text)
}

export function newRemoteAgent(service: Service, url: string, fields: object = {}): Promise<string> {
  return newAgent(service, { kind: 'remote', remote: { url, secret: 'REMOTE' }, ...fields })
}

/** A remote agent whose server writes its replies itself, without the SDK. */
export async function startRawRemote<Call>(
  service: Service,
  answer: (response: ServerResponse, call: Call) => void | Promise<void>,
): Promise<{ server: LocalServer; agent: string }> {
  const server = await startLocalServer(async (request, response) => {
    await answer(response, JSON.parse(await readBody(request)) as Call)
  })
  await setRemoteSecret(service)
  return { server, agent: await newRemoteAgent(service, server.url) }
}
