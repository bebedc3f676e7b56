import assert from 'node:assert/strict'
import { asHost } from '../clients/mfa.ts'
import { type LocalServer, readBody, startLocalServer } from '../outside/local-server.ts'
import { until } from '../running/until.ts'
import type { Reply, Service } from '../service/service.ts'

/** A tool that records the arguments of its calls. */
export type Till = LocalServer & { refunds: Record<string, unknown>[]; of(order: string): Record<string, unknown>[] }

export async function startTill(): Promise<Till> {
  const refunds: Record<string, unknown>[] = []
  const server = await startLocalServer(async (request, response) => {
    const refund = JSON.parse(await readBody(request))
    refunds.push({ ...refund, key: request.headers['idempotency-key'] })
    response.end(`refunded ${refund.amount}`)
  })
  return { ...server, refunds, of: (order) => refunds.filter((refund) => refund['order'] === order) }
}

const REFUND_SCHEMA = {
  type: 'object',
  properties: { order: { type: 'string' }, amount: { type: 'number' } },
  required: ['order', 'amount'],
}

/** An agent that refunds 120 for the order in the message, after a person has approved it. */
export function refundingAgent({ url }: Pick<Till, 'url'>, tool: object = { approval: 'always' }, amount = 120) {
  return {
    model: 'builtin/script',
    tools: [{ type: 'http', name: 'refund', method: 'POST', url, input_schema: REFUND_SCHEMA, ...tool }],
    script: {
      rules: [{ call: { tool: 'refund', arguments: { order: '{{message}}', amount } }, reply: 'Said: {{result}}' }],
    },
  }
}

/**
 * A key that may decide. It was created on the server, because a key that the admin created can't decide what the admin
 * has started.
 */
export async function approver(service: Service, more: object = {}): Promise<string> {
  const { status, body } = await asHost(service, 'POST', '/v1/keys', {
    name: 'lead',
    role: 'approver',
    tier: 'enterprise',
    ...more,
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body.data.secret
}

/** Starts a run in the background, and waits until it waits for a person. */
export async function startWaiting(
  service: Service,
  agent: string,
  message: string,
  context: object = {},
  key?: string,
) {
  const headers = { Prefer: 'respond-async' }
  const asked = { ...(key && { key }), body: { message, context }, headers }
  const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, asked)
  assert.equal(reply.status, 202, reply.text)
  const { request_id } = reply.body.data
  const path = `/v1/agents/${agent}/invocations/${request_id}`
  await untilStatus(service, path, 'waiting')
  return { request_id: request_id as string, path, approval: `${path}/approvals/call_1` }
}

const FINAL = new Set(['completed', 'failed', 'cancelled'])

/** The receipt, once it has this status. Fails immediately if the run ends with another one. */
export function untilStatus(service: Service, path: string, status: string) {
  return until(`the status ${status}`, async () => {
    const { body, text } = await service.call('GET', path)
    const now = body.data?.status
    assert.ok(now === status || !FINAL.has(now), text)
    return now === status && body.data
  })
}

export function decide(service: Service, path: string, key: string, body: object): Promise<Reply> {
  return service.call('POST', path, { key, body })
}
