import assert from 'node:assert/strict'
import { startAuthorizationServer } from '../outside/authorization-server.ts'
import { NOWHERE, startLocalServer } from '../outside/local-server.ts'
import { until } from '../running/until.ts'
import type { Service } from '../service/service.ts'
import { Browser, toServer } from '../slices/connections.ts'
import { createAgent, createKey } from '../slices/resources.ts'
import { asHost, authenticator } from './mfa.ts'

export type Params = Record<string, string>

type StoryInput = { params: Params; query?: string; body?: Record<string, unknown> }

type Story = (service: Service, name: string) => Promise<StoryInput>

/**
 * Operations that succeed only after something else has happened: what must happen first, and the request that then
 * succeeds.
 */
export const STORIES: Record<string, Story> = {
  async cancelInvocation(service, name) {
    const script = { rules: [{ reply: 'late', delay_ms: 60_000 }] }
    const agent_id = await createAgent(service, name, { model: 'builtin/script', script })
    const { request_id } = await post(service, `/v1/agents/${agent_id}/invoke`, { message: 'sample' }, 202, {
      Prefer: 'respond-async',
    })
    return { params: { agent_id, request_id: request_id as string } }
  },

  getSummary: summarized,
  replaceSummary: summarized,
  deleteSummary: summarized,

  getApproval: askPerson,
  decideApproval: askPerson,

  async deleteFeedback(service, name) {
    const agent_id = await createAgent(service, name)
    const { request_id } = await post(service, `/v1/agents/${agent_id}/invoke`, { message: 'sample' }, 200)
    const path = `/v1/agents/${agent_id}/invocations/${request_id}/feedback`
    const reply = await service.call('PUT', path, { body: { score: 1 } })
    assert.equal(reply.status, 200, reply.text)
    return { params: { agent_id, request_id: request_id as string } }
  },

  replayTriggerDelivery: triggered,
  getTriggerDelivery: triggered,
  async putSet(service, name) {
    const agent_id = await createAgent(service, name)
    return { params: { agent_id, name: 'sample' }, body: { cases: [{ message: 'sample' }] } }
  },
  getSet: withSet,
  deleteSet: withSet,
  async createReplay(service, name) {
    const { params } = await withSet(service, name)
    return { params, body: { working_copy: true, set: 'sample' } }
  },
  getReplay: withReplay,
  listReplayCases: withReplay,
  cancelReplay: (service, name) => withReplay(service, name, { reply: 'late', delay_ms: 60_000 }),

  async rollbackDeployment(service, name) {
    const agent_id = await createAgent(service, name)
    const deploy = (version: string) =>
      post(service, `/v1/agents/${agent_id}/deployments`, { environment: 'production', version }, 201)
    await deploy('v1')
    const { id } = await deploy('v2')
    return { params: { agent_id, deployment_id: id as string } }
  },

  promoteDeployment: rollingOut,
  pauseDeployment: rollingOut,
  abortDeployment: rollingOut,
  async resumeDeployment(service, name) {
    const asked = await rollingOut(service, name)
    const { agent_id, deployment_id } = asked.params
    await post(service, `/v1/agents/${agent_id}/deployments/${deployment_id}/pause`, {}, 200)
    return asked
  },

  async redeliver(service, name) {
    const receiver = await startLocalServer((_request, response) => response.end())
    const agent_id = await createAgent(service, name)
    const hook = { agent_id, url: receiver.url, events: ['agent.completed'] }
    const { id: webhook_id } = await post(service, '/v1/webhooks', hook, 201)
    await post(service, `/v1/agents/${agent_id}/invoke`, { message: 'sample' }, 200)
    const delivered = until('the event is delivered', async () => {
      const { body } = await service.call('GET', `/v1/webhooks/${webhook_id}/deliveries?status=delivered`)
      return body.data[0]?.id as string | undefined
    })
    const delivery_id = await delivered.finally(() => receiver.close())
    return { params: { webhook_id: webhook_id as string, delivery_id } }
  },

  async deleteProject(service, name) {
    const { id } = await post(service, '/v1/projects', { name }, 201)
    return { params: { project_id: id as string }, query: `?name=${name}` }
  },

  createFile: async (_service, name) => ({ params: {}, body: { file: name } }),

  async checkRemote(service, name) {
    const remote = { a2a: `${NOWHERE}/card` }
    return { params: { agent_id: await createAgent(service, name, { kind: 'remote', remote }) } }
  },

  setProvider: provided,
  listProviderModels: provided,
  testProvider: provided,
  deleteProvider: provided,

  setPrice: async (_service, name) => ({ params: { provider: 'sample', model: name } }),
  async deletePrice(service, name) {
    const reply = await service.call('PUT', `/v1/prices/sample/${name}`, { body: { input: 1, output: 2 } })
    assert.equal(reply.status, 200, reply.text)
    return { params: { provider: 'sample', model: name } }
  },

  setConnection: connected,
  getConnection: connected,
  testConnection: connected,
  deleteConnection: connected,
  createConnectionLink: async (service, name) => ({ ...(await connected(service, name)), body: { user_id: 'ann' } }),
  confirmConnectionLink: async (service, name) => ({ ...(await signedIn(service, name)), body: { user_id: 'ann' } }),
  listGrants: connected,
  revokeGrant: signedIn,

  async confirmFactor(service) {
    const { id: key_id } = await createKey(service, { role: 'viewer' })
    const { body } = await asHost(service, 'POST', `/v1/keys/${key_id}/mfa`)
    return { params: { key_id }, body: { code: authenticator(service, body.data.secret).code() } }
  },
}

/** A delivery of a trigger. */
async function triggered(service: Service, name: string): ReturnType<Story> {
  const agent_id = await createAgent(service, name)
  const path = `/v1/agents/${agent_id}/triggers`
  const { id: trigger_id } = await post(service, path, { message: 'Hello', verify: { scheme: 'none' } }, 201)
  const { delivery_id } = await post(service, `${path}/${trigger_id}/test`, { run: true }, 200)
  return { params: { agent_id, trigger_id: trigger_id as string, delivery_id: delivery_id as string } }
}

/** A model provider whose URL nothing listens on. */
async function provided(service: Service, name: string): ReturnType<Story> {
  const body = { base_url: `${NOWHERE}/v1` }
  const reply = await service.call('PUT', `/v1/providers/${name}`, { body })
  assert.equal(reply.status, 200, reply.text)
  return { params: { name } }
}

/** A connection to a provider where nobody listens. */
async function connected(service: Service, sample: string) {
  const name = sample.replaceAll('-', '_')
  const body = { kind: 'oauth2', issuer: NOWHERE, client_id: 'sample', hosts: ['api.example.com'] }
  const reply = await service.call('PUT', `/v1/connections/${name}`, { body })
  assert.equal(reply.status, 200, reply.text)
  return { params: { name } }
}

/** A sign-in that is not confirmed yet. */
async function signedIn(service: Service, sample: string) {
  const name = sample.replaceAll('-', '_')
  const server = await startAuthorizationServer()
  try {
    const reply = await service.call('PUT', `/v1/connections/${name}`, { body: toServer(server) })
    assert.equal(reply.status, 200, reply.text)
    const { link_id, url } = await post(service, `/v1/connections/${name}/links`, { user_id: 'ann' }, 201)
    const page = await new Browser(() => service).signIn(url as string)
    assert.equal(page.status, 200, page.at.join())
    return { params: { name, link_id: link_id as string, user_id: 'ann' } }
  } finally {
    await server.close()
  }
}

/** A session that has a summary. */
async function summarized(service: Service, name: string) {
  const agent_id = await createAgent(service, name)
  const context = { session_id: name }
  await post(service, `/v1/agents/${agent_id}/invoke`, { message: 'sample', context }, 200)
  const path = `/v1/agents/${agent_id}/sessions/${name}/summary`
  const { status, text } = await service.call('PUT', path, { body: { content: 'A sample' } })
  assert.equal(status, 200, text)
  return { params: { agent_id, session_id: name } }
}

/** A run that waits for an answer, which the client that started it may give. */
async function askPerson(service: Service, name: string) {
  const agent_id = await createAgent(service, name, {
    model: 'builtin/script',
    tools: [{ type: 'ask_person' }],
    script: { rules: [{ call: { tool: 'ask_person', arguments: { question: 'Why?' } } }] },
    approvals: { self: true },
  })
  const { request_id } = await post(service, `/v1/agents/${agent_id}/invoke`, { message: 'sample' }, 202)
  return { params: { agent_id, request_id: request_id as string, call_id: 'call_1' } }
}

async function post(
  service: Service,
  path: string,
  body: object,
  expected: number,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const reply = await service.call('POST', path, { body, headers })
  assert.equal(reply.status, expected, reply.text)
  return reply.body.data
}

async function withSet(service: Service, name: string, rule: object = { reply: 'sample' }): Promise<StoryInput> {
  const agent_id = await createAgent(service, name, { model: 'builtin/script', script: { rules: [rule] } })
  const body = { cases: [{ message: 'sample' }] }
  const reply = await service.call('PUT', `/v1/agents/${agent_id}/sets/sample`, { body })
  assert.equal(reply.status, 200, reply.text)
  return { params: { agent_id, name: 'sample' } }
}

async function rollingOut(service: Service, name: string): Promise<StoryInput> {
  const agent_id = await createAgent(service, name)
  const deploy = (version: string, more: object = {}) =>
    post(service, `/v1/agents/${agent_id}/deployments`, { environment: 'production', version, ...more }, 201)
  await deploy('v1')
  const { id } = await deploy('v2', { strategy: { steps: [{ percent: 10, minutes: 60 }] } })
  return { params: { agent_id, deployment_id: id as string } }
}

async function withReplay(service: Service, name: string, rule?: object): Promise<StoryInput> {
  const { params } = await withSet(service, name, rule)
  const body = { working_copy: true, set: 'sample' }
  const { id } = await post(service, `/v1/agents/${params['agent_id']}/replays`, body, 201)
  return { params: { ...params, replay_id: id as string } }
}
