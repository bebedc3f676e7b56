import assert from 'node:assert/strict'
import { openApiDocument } from '../../../src/http/reference/openapi.ts'
import type { Operation } from '../../../src/operation.ts'
import { operations } from '../../../src/operations.ts'
import { ConsoleTab } from '../console/console-tab.ts'
import { NOWHERE } from '../outside/local-server.ts'
import { until } from '../running/until.ts'
import type { Service, Settings } from '../service/service.ts'
import { makeApplication } from '../slices/applications.ts'
import { PUBLIC_URL } from '../slices/connections.ts'
import { uploaded } from '../slices/files.ts'
import { makePerson } from '../slices/people.ts'
import { createAgent, createKey, idsOf } from '../slices/resources.ts'
import { enrol } from './mfa.ts'
import { type Params, STORIES } from './request-stories.ts'

export type Schema = Record<string, unknown>

export type SampleRequest = {
  method: string
  path: string
  body: Record<string, unknown> | undefined
  headers: Record<string, string>
}

/** All operations that a key can call. Operations for people are tested elsewhere. */
export const operationsForKeys = operations.filter(({ access }) => !access.forPeople && !access.ofRuns)

/** Lets webhooks point at this machine, at a port on which nothing listens. */
export const SAMPLE_SETTINGS: Settings = {
  MOORAGE_SERVER__PUBLIC_URL: PUBLIC_URL,
  MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.0/8',
  MOORAGE_OUTGOING__ALLOW_INSECURE: 'true',
  MOORAGE_CONSOLE__OIDC: JSON.stringify([{ name: 'sample', issuer: 'https://sample.example.com', clientId: 'sample' }]),
}

const document = await openApiDocument(operations)
const components = document.components.schemas as Record<string, Schema>
let made = 0

/** Values that a schema alone doesn't determine. */
const FIELDS: Record<string, () => unknown> = {
  name: () => `sample-${++made}`,
  version: () => `v${++made}`,
  url: () => `${NOWHERE}/hook`,
  events: () => ['agent.completed'],
  code: () => '123456',
}

/** Combinations of fields that an operation requires. */
const TOGETHER: Record<string, Record<string, unknown>> = {
  createKey: { role: 'viewer' },
  createInvitation: { email: 'sample@example.com', role: 'viewer' },
  setPersonRole: { role: 'developer' },
  decideApproval: { decision: 'reject' },
  updateAgent: { temperature: 1 },
  updateMemory: { content: 'changed' },
  updateWebhook: { description: 'changed' },
  setConnection: { kind: 'oauth2', issuer: NOWHERE, client_id: 'sample', hosts: ['api.example.com'], url: undefined },
  setProvider: { base_url: `${NOWHERE}/v1` },
  createSchedule: { every: '1h' },
  updateSchedule: { overlap: 'queue' },
  createTrigger: { verify: { scheme: 'none' } },
  updateTrigger: { message: 'changed' },
  updateProject: { description: 'changed' },
  moveAgent: { project: 'default' },
  repriceUsage: { from: '2026-01-01T00:00:00Z' },
  createBudget: { scope: { type: 'project' }, limit: { runs: 1000 } },
  updateBudget: { limit: { runs: 2000 } },
  putSet: { cases: [{ message: 'sample' }] },
  createReplay: { working_copy: true, set: 'sample' },
}

/** How to create what a path names. Each can use what comes before it in the path. */
const MAKERS: Record<string, (service: Service, params: Params) => Promise<string>> = {
  agent_id: (service) => createAgent(service, `sample-${++made}`),
  project_id: async (service) => (await create(service, '/v1/projects', 'createProject')).id as string,
  key_id: async (service) => (await createKey(service, { role: 'viewer' })).id,
  webhook_id: async (service) => (await create(service, '/v1/webhooks', 'createWebhook')).id as string,
  deployment_id: async (service, { agent_id = '' }) => {
    const of = agent_id || (await createAgent(service, `sample-${++made}`))
    const { id } = await create(service, `/v1/agents/${of}/deployments`, 'createDeployment')
    return id as string
  },
  trigger_id: async (service, { agent_id }) =>
    (await create(service, `/v1/agents/${agent_id}/triggers`, 'createTrigger')).id as string,
  link_id: async (service, { agent_id }) =>
    (await create(service, `/v1/agents/${agent_id}/links`, 'createLink')).id as string,
  schedule_id: async (service, { agent_id }) =>
    (await create(service, `/v1/agents/${agent_id}/schedules`, 'createSchedule')).id as string,
  async name(service) {
    const name = `SAMPLE_${++made}`
    const reply = await service.call('PUT', `/v1/secrets/${name}`, { body: { value: 'sample', hosts: ['sample'] } })
    assert.equal(reply.status, 200, reply.text)
    return name
  },
  callback_id: async (service, { agent_id, request_id }) =>
    (await create(service, `/v1/agents/${agent_id}/invocations/${request_id}/callbacks`, 'createCallback'))
      .id as string,
  memory_id: async (service, { agent_id }) => {
    const { items } = await create(service, `/v1/agents/${agent_id}/memory`, 'writeMemory')
    return (items as { id: string }[])[0]?.id as string
  },
  listener_id: async (service) => (await create(service, '/v1/listeners', 'createListener')).id as string,
  application_id: makeApplication,
  person_id: (service) => makePerson(service, `sample-${++made}`),
  invitation_id: async (service) => (await create(service, '/v1/invitations', 'createInvitation')).id as string,
  file_id: (service) => uploaded(service, 'sample', { type: 'text/plain' }),
  budget_id: async (service) => (await create(service, '/v1/budgets', 'createBudget')).id as string,
  async session_id(service) {
    const { body } = await new ConsoleTab(() => service).signIn(service.admin)
    return body.data.session_id
  },
  user_id: async () => `user-${++made}`,
  request_id: async (service, { agent_id }) => (await invoke(service, agent_id)).request_id as string,
  async delivery_id(service, { webhook_id = '' }) {
    const of = webhook_id || ((await create(service, '/v1/webhooks', 'createWebhook')).id as string)
    await invoke(service, 'hello')
    let ids: string[] = []
    await until('the event of the invocation is on its way', async () => {
      ids = idsOf(await service.call('GET', `/v1/webhooks/${of}/deliveries`))
      return ids.length > 0
    })
    return ids[0] as string
  },
}

/**
 * A request to the operation that should succeed: creates what its path names, and provides what its shapes require.
 */
export async function sampleRequest(service: Service, operation: Operation): Promise<SampleRequest> {
  const told = await STORIES[operation.id]?.(service, `sample-${++made}`)
  const params = told?.params ?? (await makeParams(service, operation.path))
  return {
    method: operation.method,
    path: pathOf(operation, params) + (told?.query ?? sampleQuery(operation)),
    body: told?.body ?? sampleBody(operation),
    headers: operation.mfa?.policy === 'always' ? { 'X-Service-OTP': await adminCode(service) } : {},
  }
}

async function makeParams(service: Service, path: string): Promise<Params> {
  const params: Params = {}
  for (const name of namesIn(path)) {
    const make = MAKERS[name]
    assert.ok(make, `test/support/clients/requests.ts needs a value for {${name}}`)
    params[name] = await make(service, params)
  }
  return params
}

/** Some operations always require a one-time code for the key that makes the request. */
async function adminCode(service: Service): Promise<string> {
  const { body } = await service.call('GET', '/v1/keys/self')
  return (await enrol(service, body.data.id)).code()
}

/**
 * The operation's path. Every parameter that isn't given names something that doesn't exist, except for the demo agent.
 */
export function pathOf({ path }: Operation, params: Params = { agent_id: 'hello' }): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? `${name}_that_does_not_exist`)
}

export function sampleBody({ id, method, path }: Operation): Record<string, unknown> | undefined {
  const schema = bodySchema({ method, path })
  return schema && { ...(sampleOf(schema, id) as Record<string, unknown>), ...TOGETHER[id] }
}

/** The JSON Schema of an operation's body, if it has one. */
export function bodySchema({ method, path }: Pick<Operation, 'method' | 'path'>): Schema | undefined {
  const { requestBody } = documented({ method, path })
  const json = requestBody?.content['application/json']
  return json && resolve(json.schema)
}

export function querySchemas({ method, path }: Pick<Operation, 'method' | 'path'>) {
  return documented({ method, path }).parameters.filter((parameter) => parameter.in === 'query')
}

/** Replaces a reference to a schema with the schema. */
export function resolve(schema: Schema): Schema {
  const name = typeof schema.$ref === 'string' ? schema.$ref.split('/').at(-1) : undefined
  return name === undefined ? schema : resolve(components[name] as Schema)
}

type Documented = {
  parameters: { name: string; in: string; required: boolean; schema: Schema }[]
  requestBody?: { content: { 'application/json'?: { schema: Schema } } }
}

function documented({ method, path }: Pick<Operation, 'method' | 'path'>): Documented {
  return document.paths[path]?.[method.toLowerCase()] as Documented
}

function sampleQuery(operation: Operation): string {
  const required = querySchemas(operation).filter((parameter) => parameter.required)
  const values = required.map(({ name, schema }) => `${name}=${encodeURIComponent(String(sampleOf(schema, name)))}`)
  return values.length > 0 ? `?${values.join('&')}` : ''
}

function sampleOf(given: Schema, field: string): unknown {
  const schema = resolve(given)
  const known = FIELDS[field]
  if (known) return known()
  if ('const' in schema) return schema.const
  if ('default' in schema) return schema.default
  if (Array.isArray(schema.enum)) return schema.enum[0]
  const variants = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (variants) return sampleOf(variants[0] as Schema, field)
  if (schema.type === 'object') {
    const properties = (schema.properties ?? {}) as Record<string, Schema>
    const required = (schema.required ?? []) as string[]
    return Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] as Schema, name)]))
  }
  if (schema.type === 'array') return schema.minItems ? [sampleOf(schema.items as Schema, field)] : []
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1
  return schema.type === 'boolean' ? true : 'sample'
}

function namesIn(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
}

async function create(service: Service, path: string, id: string): Promise<Record<string, unknown>> {
  const operation = operations.find((candidate) => candidate.id === id) as Operation
  const reply = await service.call('POST', path, { body: sampleBody(operation) })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.data
}

async function invoke(service: Service, agent: string | undefined): Promise<Record<string, unknown>> {
  const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'sample' } })
  assert.equal(reply.status, 200, reply.text)
  return reply.body.data
}
