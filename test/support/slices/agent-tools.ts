import assert from 'node:assert/strict'
import { newAgent } from '../service/agents.ts'
import type { Service } from '../service/service.ts'

/** An agent that passes its message on to another one, and returns that one's answer. */
export function callerOf(agent: string, tool: object = {}, more: object = {}) {
  return {
    model: 'builtin/script',
    tools: [{ type: 'agent', name: 'ask', agent, ...tool }],
    script: { rules: [{ call: { tool: 'ask', arguments: { message: '{{message}}' } }, reply: 'Said: {{result}}' }] },
    ...more,
  }
}

/** Creates an agent that others call by its name. Returns its ID. By default, it repeats its message. */
export function named(service: Service, name: string, fields: object = {}): Promise<string> {
  return newAgent(service, { name, ...fields })
}

/** The receipts of the runs that a run has called, latest first. */
export async function childrenOf(service: Service, request_id: string) {
  const { status, body, text } = await service.call('GET', `/v1/invocations?parent_request_id=${request_id}`)
  assert.equal(status, 200, text)
  return body.data
}
