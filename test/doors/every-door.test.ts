import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { type Client, createClient } from '../../sdk/client.ts'
import { buildProgram } from '../../src/cli/commands.ts'
import { COMMAND_TABLE } from '../../src/cli/from-operations/command-table.ts'
import { fieldOption } from '../../src/cli/from-operations/field-option.ts'
import { ApiError } from '../../src/errors.ts'
import { dialects } from '../../src/http/dialects/dialects.ts'
import { openApiDocument } from '../../src/http/reference/openapi.ts'
import { operationsOf } from '../../src/http/reference/openapi-document.ts'
import { llmsText } from '../../src/http/reference/reference.ts'
import { referencePage } from '../../src/http/reference/reference-page.ts'
import { curl, sample, sampleReply } from '../../src/http/reference/samples.ts'
import type { Operation } from '../../src/operation.ts'
import { operations } from '../../src/operations.ts'
import { Permission } from '../../src/security/permissions.ts'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { readDoc } from '../support/house/docs.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'

const document = await openApiDocument(operations)
const described = operationsOf(document)

type Call = (client: Client) => PromiseLike<unknown> | AsyncIterable<unknown>

type Doors = { sdk: Call; cli: string }

/**
 * How operations are reached from the SDK and from the command line. Ids are of nothing: only the request counts. An
 * operation that is not here has the names that are made for it.
 */
const NAMED: Record<string, Doors> = {
  invokeAgent: { sdk: (c) => c.agents.invoke('a', { message: 'm' }), cli: 'invoke a m' },
  listInvocations: { sdk: (c) => c.invocations.list('a'), cli: 'invocations list a' },
  getInvocation: { sdk: (c) => c.invocations.get('a', 'r'), cli: 'invocations get a r' },
  takeSteps: {
    sdk: (c) => c.invocations.takeSteps('a', 'r', { steps: [{ id: 's', type: 'keep', value: 1 }] }),
    cli: 'api POST /v1/agents/a/invocations/r/steps --body {"steps":[{"id":"s","type":"keep","value":1}]}',
  },
  streamInvocation: { sdk: (c) => c.invocations.follow('a', 'r'), cli: 'invocations follow a r' },
  cancelInvocation: { sdk: (c) => c.invocations.cancel('a', 'r'), cli: 'invocations cancel a r' },
  listAllInvocations: { sdk: (c) => c.invocations.listAll(), cli: 'invocations list' },
  getPrompt: { sdk: (c) => c.invocations.prompt('a', 'r'), cli: 'invocations prompt a r' },
  getEffects: { sdk: (c) => c.invocations.effects('a', 'r'), cli: 'invocations effects a r' },
  listOverview: { sdk: (c) => c.agents.overview(), cli: 'agents overview' },
  diffDeployment: { sdk: (c) => c.deployments.diff('a', 'd'), cli: 'deployments diff a d' },
  getSystem: { sdk: (c) => c.system.get(), cli: 'system' },
  listApprovals: { sdk: (c) => c.approvals.list(), cli: 'approvals list' },
  getApproval: { sdk: (c) => c.approvals.get('a', 'r', 'c'), cli: 'approvals get r --call c --agent a' },
  decideApproval: {
    sdk: (c) => c.approvals.decide('a', 'r', 'c', { decision: 'approve' }),
    cli: 'approvals approve r --call c --agent a',
  },
  giveFeedback: {
    sdk: (c) => c.feedback.give('a', 'r', { score: 1 }),
    cli: 'feedback give a r --score 1',
  },
  getFeedback: { sdk: (c) => c.feedback.get('a', 'r'), cli: 'feedback get a r' },
  deleteFeedback: { sdk: (c) => c.feedback.delete('a', 'r'), cli: 'feedback delete a r --yes' },
  listFeedback: { sdk: (c) => c.feedback.list(), cli: 'feedback list' },
  createTrigger: {
    sdk: (c) => c.triggers.create('a', { message: 'm', verify: { scheme: 'none' } }),
    cli: 'triggers create a m --scheme none',
  },
  updateTrigger: { sdk: (c) => c.triggers.update('a', 't', { enabled: false }), cli: 'triggers disable a t' },
  createLink: { sdk: (c) => c.links.create('a', {}), cli: 'links create a' },
  listLinks: { sdk: (c) => c.links.list('a'), cli: 'links list a' },
  getLink: { sdk: (c) => c.links.get('a', 'l'), cli: 'links get a l' },
  deleteLink: { sdk: (c) => c.links.delete('a', 'l'), cli: 'links delete a l --yes' },
  eraseInvocation: { sdk: (c) => c.invocations.erase('a', 'r'), cli: 'invocations erase a r --yes' },
  createCallback: {
    sdk: (c) => c.callbacks.create('a', 'r', { url: 'https://example.com' }),
    cli: 'callbacks create a r https://example.com',
  },
  listCallbacks: { sdk: (c) => c.callbacks.list('a', 'r'), cli: 'callbacks list a r' },
  getCallback: { sdk: (c) => c.callbacks.get('a', 'r', 'c'), cli: 'callbacks get a r c' },
  deleteCallback: { sdk: (c) => c.callbacks.delete('a', 'r', 'c'), cli: 'callbacks delete a r c --yes' },
  createFile: { sdk: (c) => c.files.create(new Blob(['x'])), cli: 'files put -' },
  listFiles: { sdk: (c) => c.files.list(), cli: 'files list' },
  getFile: { sdk: (c) => c.files.get('f'), cli: 'files show f' },
  getFileContent: { sdk: (c) => c.files.content('f'), cli: 'files get f' },
  getRunFile: { sdk: (c) => c.files.ofRun('a', 'r', 'f'), cli: 'api GET /v1/agents/a/invocations/r/files/f' },
  deleteFile: { sdk: (c) => c.files.delete('f'), cli: 'files delete f --yes' },
  createAgent: { sdk: (c) => c.agents.create({ name: 'b' }), cli: 'agents create b' },
  listAgents: { sdk: (c) => c.agents.list(), cli: 'agents list' },
  listInvocable: { sdk: (c) => c.keys.agents(), cli: 'agents invocable' },
  getAgent: { sdk: (c) => c.agents.get('a'), cli: 'agents get a' },
  updateAgent: { sdk: (c) => c.agents.update('a', { model: 'm' }), cli: 'agents update a --model m' },
  deleteAgent: { sdk: (c) => c.agents.delete('a'), cli: 'agents delete a --yes' },
  createDeployment: {
    sdk: (c) => c.deployments.create('a', { environment: 'e', version: 'v' }),
    cli: 'deployments create a v',
  },
  listDeployments: { sdk: (c) => c.deployments.list('a'), cli: 'deployments list a' },
  findDeployment: { sdk: (c) => c.deployments.find('d'), cli: 'deployments get dep_1' },
  getDeployment: { sdk: (c) => c.deployments.get('a', 'd'), cli: 'deployments get a d' },
  rollbackDeployment: { sdk: (c) => c.deployments.rollback('a', 'd'), cli: 'rollback a d' },
  createSchedule: {
    sdk: (c) => c.schedules.create('a', { every: '1h', message: 'm' }),
    cli: 'schedules create a m --every 1h',
  },
  listSchedules: { sdk: (c) => c.schedules.list('a'), cli: 'schedules list a' },
  getSchedule: { sdk: (c) => c.schedules.get('a', 's'), cli: 'schedules get a s' },
  updateSchedule: { sdk: (c) => c.schedules.update('a', 's', { enabled: false }), cli: 'schedules pause a s' },
  deleteSchedule: { sdk: (c) => c.schedules.delete('a', 's'), cli: 'schedules delete a s --yes' },
  runSchedule: { sdk: (c) => c.schedules.run('a', 's'), cli: 'schedules run a s' },
  getLogs: { sdk: (c) => c.logs.list('a'), cli: 'logs a' },
  getMetrics: { sdk: (c) => c.metrics.get('a', { metric: 'throughput' }), cli: 'metrics a' },
  getPerformance: { sdk: (c) => c.metrics.performance('a'), cli: 'metrics a --table' },
  getUsage: { sdk: (c) => c.usage.get(), cli: 'usage' },
  listPrices: { sdk: (c) => c.prices.list(), cli: 'prices list' },
  setPrice: {
    sdk: (c) => c.prices.set('p', 'm/1', { input: 1, output: 2 }),
    cli: 'prices set p/m/1 --input 1 --output 2',
  },
  deletePrice: { sdk: (c) => c.prices.delete('p', 'm/1'), cli: 'prices delete p/m/1 --yes' },
  repriceUsage: { sdk: (c) => c.usage.reprice({ from: 'f' }), cli: 'usage reprice --from 1h' },
  searchMemory: { sdk: (c) => c.memory.search('a', { query: 'q' }), cli: 'memory search a q' },
  writeMemory: { sdk: (c) => c.memory.write('a', { items: [{ content: 'c' }] }), cli: 'memory add a c' },
  getMemoryStatus: { sdk: (c) => c.memory.status(), cli: 'memory status' },
  clearMemory: { sdk: (c) => c.memory.clear('a'), cli: 'memory clear a --yes' },
  listMemory: { sdk: (c) => c.memory.list('a'), cli: 'memory list a' },
  getMemory: { sdk: (c) => c.memory.get('a', 'm'), cli: 'memory get a m' },
  updateMemory: { sdk: (c) => c.memory.update('a', 'm', { content: 'c' }), cli: 'memory update a m c' },
  deleteMemory: { sdk: (c) => c.memory.delete('a', 'm'), cli: 'memory delete a m --yes' },
  listUsers: { sdk: (c) => c.users.list('a'), cli: 'users list a' },
  listSessions: { sdk: (c) => c.users.sessions('a'), cli: 'users sessions a' },
  getSummary: { sdk: (c) => c.memory.summary('a', 's'), cli: 'memory summary a s' },
  replaceSummary: {
    sdk: (c) => c.memory.replaceSummary('a', 's', { content: 'c' }),
    cli: 'memory set-summary a s c',
  },
  deleteSummary: { sdk: (c) => c.memory.deleteSummary('a', 's'), cli: 'memory delete-summary a s --yes' },
  exportUser: { sdk: (c) => c.users.export('u'), cli: 'users export u' },
  eraseUser: { sdk: (c) => c.users.erase('u'), cli: 'users erase u --yes' },
  createWebhook: {
    sdk: (c) => c.webhooks.create({ url: 'https://example.com', events: ['*'] }),
    cli: 'webhooks create ftp://x --events ping',
  },
  listWebhooks: { sdk: (c) => c.webhooks.list(), cli: 'webhooks list' },
  getWebhook: { sdk: (c) => c.webhooks.get('w'), cli: 'webhooks get w' },
  updateWebhook: { sdk: (c) => c.webhooks.update('w', { events: ['*'] }), cli: 'webhooks update w --status enabled' },
  deleteWebhook: { sdk: (c) => c.webhooks.delete('w'), cli: 'webhooks delete w --yes' },
  rotateWebhookSecret: { sdk: (c) => c.webhooks.rotateSecret('w'), cli: 'webhooks rotate-secret w' },
  testWebhook: { sdk: (c) => c.webhooks.test('w'), cli: 'webhooks test w' },
  listDeliveries: { sdk: (c) => c.webhooks.deliveries('w'), cli: 'webhooks deliveries w' },
  findDelivery: { sdk: (c) => c.webhooks.findDelivery('d'), cli: 'webhooks deliveries dlv_1' },
  getDelivery: { sdk: (c) => c.webhooks.delivery('w', 'd'), cli: 'webhooks deliveries w d' },
  redeliver: { sdk: (c) => c.webhooks.redeliver('w', 'd'), cli: 'webhooks redeliver w d' },
  createListener: {
    sdk: (c) => c.listeners.create({ events: ['*'] }),
    cli: 'webhooks listen --forward-to 127.0.0.1:9',
  },
  getListener: { sdk: (c) => c.listeners.get('l'), cli: 'webhooks listen --forward-to 127.0.0.1:9' },
  createKey: { sdk: (c) => c.keys.create({ name: 'k', role: 'viewer' }), cli: 'keys create k --role viewer' },
  listKeys: { sdk: (c) => c.keys.list(), cli: 'keys list' },
  getSelf: { sdk: (c) => c.keys.self(), cli: 'whoami' },
  getKey: { sdk: (c) => c.keys.get('k'), cli: 'keys get k' },
  rotateKey: { sdk: (c) => c.keys.rotate('k'), cli: 'keys rotate k' },
  revokeKey: { sdk: (c) => c.keys.revoke('k'), cli: 'keys revoke k --yes' },
  enrolFactor: { sdk: (c) => c.mfa.enrol('k'), cli: 'mfa enrol k' },
  confirmFactor: { sdk: (c) => c.mfa.confirm('k', '000000'), cli: 'mfa confirm k 000000' },
  getFactor: { sdk: (c) => c.mfa.get('k'), cli: 'mfa status k' },
  removeFactor: { sdk: (c) => c.mfa.remove('k'), cli: 'mfa remove k --yes' },
  createConsoleLink: { sdk: (c) => c.console.createLink(), cli: 'open' },
  listConsoleSessions: { sdk: (c) => c.console.sessions(), cli: 'console sessions' },
  endConsoleSession: { sdk: (c) => c.console.endSession('s'), cli: 'console sign-out s --yes' },
  createPersonalKey: {
    sdk: (c) => c.people.createPersonalKey({ name: 'k', role: 'viewer' }),
    cli: 'api POST /v1/personal-keys --body {"name":"k","role":"viewer"}',
  },
  listPersonalKeys: { sdk: (c) => c.people.personalKeys(), cli: 'api GET /v1/personal-keys' },
  revokePersonalKey: { sdk: (c) => c.people.revokePersonalKey('k'), cli: 'api DELETE /v1/personal-keys/k' },
  listPeople: { sdk: (c) => c.people.list(), cli: 'people list' },
  getPerson: { sdk: (c) => c.people.get('p'), cli: 'people get p' },
  setPersonRole: { sdk: (c) => c.people.setRole('p', { role: 'viewer' }), cli: 'people role p viewer' },
  deletePerson: { sdk: (c) => c.people.delete('p'), cli: 'people remove p --yes' },
  createInvitation: {
    sdk: (c) => c.invitations.create({ email: 'a@example.com', role: 'viewer' }),
    cli: 'people invite a@example.com',
  },
  listInvitations: { sdk: (c) => c.invitations.list(), cli: 'people invitations' },
  getInvitation: { sdk: (c) => c.invitations.get('i'), cli: 'people invitation i' },
  revokeInvitation: { sdk: (c) => c.invitations.revoke('i'), cli: 'people uninvite i' },
  createProject: { sdk: (c) => c.projects.create({ name: 'p' }), cli: 'projects create p' },
  listProjects: { sdk: (c) => c.projects.list(), cli: 'projects list' },
  getProject: { sdk: (c) => c.projects.get('p'), cli: 'projects get p' },
  updateProject: { sdk: (c) => c.projects.update('p', { description: 'x' }), cli: 'projects update p --description x' },
  deleteProject: { sdk: (c) => c.projects.delete('p', { name: 'p' }), cli: 'projects delete p --confirm p' },
  moveAgent: { sdk: (c) => c.agents.move('hello', { project: 'p' }), cli: 'projects move hello p' },
  createBudget: {
    sdk: (c) => c.budgets.create({ name: 'b', scope: { type: 'project' }, limit: { runs: 1 }, per: 'day' }),
    cli: 'budgets create b --runs 1',
  },
  listBudgets: { sdk: (c) => c.budgets.list(), cli: 'budgets list' },
  getBudget: { sdk: (c) => c.budgets.get('b'), cli: 'budgets get bud_1' },
  updateBudget: { sdk: (c) => c.budgets.update('b', { name: 'c' }), cli: 'budgets update bud_1 --name c' },
  deleteBudget: { sdk: (c) => c.budgets.delete('b'), cli: 'budgets delete bud_1 --yes' },
  beginPause: { sdk: (c) => c.pauses.begin({ reason: 'r' }), cli: 'pause r' },
  endPause: { sdk: (c) => c.pauses.end(), cli: 'resume' },
  getPause: { sdk: (c) => c.pauses.get(), cli: 'api GET /v1/pause' },
  setSecret: {
    sdk: (c) => c.secrets.set('S', { value: 'v', hosts: ['example.com'] }),
    cli: 'secrets set S --hosts example.com',
  },
  listSecrets: { sdk: (c) => c.secrets.list(), cli: 'secrets list' },
  deleteSecret: { sdk: (c) => c.secrets.delete('S'), cli: 'secrets remove S --yes' },
  testTool: {
    sdk: (c) => c.agents.testTool('a', { tool: { type: 'http', name: 't', url: 'https://example.com' } }),
    cli: 'api POST /v1/agents/a/tools/test --body {"tool":{"type":"http","name":"t","url":"https://example.com"}}',
  },
  checkRemote: { sdk: (c) => c.agents.checkRemote('a', {}), cli: 'agents check a' },
  setProvider: {
    sdk: (c) => c.providers.set('p', { type: 'openai-compatible', base_url: 'https://example.com/v1' }),
    cli: 'providers set p --base-url https://example.com/v1',
  },
  listProviders: { sdk: (c) => c.providers.list(), cli: 'providers list' },
  listProviderModels: { sdk: (c) => c.providers.models('p'), cli: 'providers models p' },
  testProvider: { sdk: (c) => c.providers.test('p'), cli: 'providers test p' },
  deleteProvider: { sdk: (c) => c.providers.delete('p'), cli: 'providers remove p --yes' },
  listAuditLog: { sdk: (c) => c.audit.list(), cli: 'audit list' },
  getAuditHead: { sdk: (c) => c.audit.head(), cli: 'audit head' },
  getTelemetry: { sdk: (c) => c.telemetry.get(), cli: 'telemetry' },
}

/** The method and the command that are made from the declaration of an operation. */
function made({ id, method }: Operation): Doors {
  const { group, name, params, fields } = COMMAND_TABLE[id] ?? assert.fail(`no command for ${id}`)
  const given = { text: 'x', list: 'x', integer: '1', number: '1', boolean: '', switch: 'true', time: '1h', json: '{}' }
  const required = fields.filter((field) => field.required && !field.path.includes('.'))
  const flags = required.map((field) => `${fieldOption(field).long} ${field.choices?.[0] ?? given[field.type]}`)
  const command = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  const words = [group, command, ...params.map(() => 'x'), ...flags, ...(method === 'DELETE' ? ['--yes'] : [])]
  const methodOf = (client: Client) =>
    (client[group as keyof Client] as unknown as Record<string, DoorMethod>)[name] as DoorMethod
  return { sdk: (client) => methodOf(client)(...params.map(() => 'x'), {}), cli: words.join(' ') }
}

type DoorMethod = (...input: unknown[]) => Promise<unknown>

const DOORS = Object.fromEntries(operations.map((operation) => [operation.id, NAMED[operation.id] ?? made(operation)]))

describe('every operation', () => {
  let service: Service
  let recorder: LocalServer & { reached: string[] }
  let shell: Shell
  before(async () => {
    service = await startService('sqlite')
    recorder = await startRecorder(service.url)
    shell = newShell({ url: recorder.url, admin: service.admin })
  })
  after(async () => {
    shell.remove()
    await recorder.close()
    await service.stop()
  })

  test('is named in this file only if it exists', () => {
    assert.deepEqual(
      Object.keys(NAMED).filter((id) => DOORS[id] === undefined),
      [],
    )
  })

  test('has one method of the SDK', async () => {
    const client = createClient({ url: recorder.url, key: service.admin, retries: 0 })
    for (const [id, { sdk }] of Object.entries(DOORS)) {
      recorder.reached = []
      await settle(sdk(client))
      assert.deepEqual(recorder.reached, [id])
    }
    // Ways to invoke besides waiting for the answer, to follow besides reading, and the way to what has no method.
    const more = new Set(['agents.stream', 'agents.start', 'logs.follow', 'request'])
    const methods = Object.entries(client).flatMap(([group, value]) =>
      typeof value === 'function' ? [group] : Object.keys(value).map((name) => `${group}.${name}`),
    )
    assert.equal(methods.filter((method) => !more.has(method)).length, operations.length)
  })

  for (const [id, { cli }] of Object.entries(DOORS)) {
    test(`${id}: moorage ${cli}`, async () => {
      recorder.reached = []
      const interrupt = new AbortController()
      const running = shell.moorage(cli.split(' '), { stdin: 'what stdin says', stop: interrupt.signal })
      // It would continue until Ctrl-C.
      if (cli.startsWith('webhooks listen')) await until(`${id} is reached`, () => recorder.reached.includes(id))
      if (cli.startsWith('webhooks listen')) interrupt.abort()
      await running
      assert.ok(recorder.reached.includes(id), `reached ${recorder.reached.join()}`)
    })
  }

  test('has a section in docs/api.md, with its description and a curl example', () => {
    const api = readDoc('docs/api.md')
    for (const { id, method, path, summary, description, access } of operations) {
      const { permission, ownPermission, forPeople, ofRuns } = access
      const section = api.split(/^##+ /m).find((text) => text.startsWith(`${summary}\n`)) ?? ''
      const [, route = '', lines = ''] = section.split('\n\n')
      const paragraph = lines.replaceAll('\n', ' ')
      assert.ok(route.startsWith(`\`${method} ${path}\` · `), `${id}: ${route}`)
      const keys = ofRuns ? "a run's token" : 'any valid key'
      const everybody = forPeople ? 'any signed-in person' : keys
      const own = ownPermission ? `, or \`${ownPermission}\` for what the key itself started` : ''
      assert.ok(route.endsWith(permission ? `permission \`${permission}\`${own}` : everybody), `${id}: ${route}`)
      assert.ok(description !== undefined && paragraph === description, id)
      const pattern = path.replaceAll(/\{\w+\}/g, '[\\w$-]+').replaceAll('/', '\\/')
      assert.match(section, new RegExp(`\`\`\`sh\n[\\s\\S]*curl .*\\$URL${pattern}(\\?|")`), id)
    }
  })

  test('has an article with a curl example in /docs, and a line in /llms.txt', async () => {
    const page = await referencePage(document, { hasConsole: true })
    const text = llmsText(document)
    for (const { operationId, method, path } of described) {
      assert.ok(page.includes(`<article id="${operationId}" `), operationId)
      assert.ok(text.includes(`[${method} ${path}](/docs#${operationId})`), operationId)
    }
  })

  test('has valid samples', () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    addFormats.default(ajv)
    ajv.addSchema(document, 'api')
    const pointer = (...parts: string[]) =>
      `api#/${parts.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`
    for (const operation of described) {
      const { operationId, method, path, requestBody, responses } = operation
      assert.match(curl(operation, document), /^curl /)
      const at = ['paths', path, method.toLowerCase()]
      const typeOf = ([kind, status = '']: string[]) =>
        kind === 'responses' ? (Object.keys(responses[status]?.content ?? {})[0] as string) : 'application/json'
      const check = (value: unknown, ...rest: string[]) =>
        assert.ok(
          ajv.validate({ $ref: pointer(...at, ...rest, 'content', typeOf(rest), 'schema') }, value),
          `${operationId}: ${ajv.errorsText()}\n${JSON.stringify(value)}`,
        )
      const body = requestBody?.content['application/json']?.schema
      if (body) check(sample(body, document, 'input'), 'requestBody')
      const status = Object.keys(responses).find((code) => code.startsWith('2')) ?? '200'
      check(sampleReply(operation, document), 'responses', status)
    }
  })
})

describe('every route of another dialect', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite', { MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '1000' })
  })
  after(() => service.stop())

  const [, ...others] = dialects
  const all = others.flatMap(({ routes }) => routes(operations))
  for (const { method, path } of all.filter(({ isForVisitors }) => isForVisitors)) {
    test(`link: ${method} ${path} opens for the token of a link, and for no key`, async () => {
      const reply = await service.call(method, path.replaceAll(/\{\w+\}/g, 'hello'))
      assert.deepEqual([reply.status, reply.body.error.code], [404, 'not_found'], reply.text)
    })
  }
  for (const { dialect, method, path, operation } of all.filter(({ isForVisitors }) => !isForVisitors)) {
    test(`${dialect.name}: ${method} ${path} needs a key, and the permission of ${operation.id}`, async () => {
      const here = path.replaceAll(/\{\w+\}/g, 'hello')
      const stranger = await service.call(method, here, { key: null })
      assert.equal(stranger.status, 401, stranger.text)
      const expected = dialect.error(new ApiError('unauthorized', ''), '')
      assert.deepEqual(Object.keys(stranger.body), Object.keys(JSON.parse(expected.body)))
      if (operation.access.permission === null) return
      const weak = await service.call(method, here, { key: await weakKey(service, operation) })
      assert.equal(weak.status, 403, weak.text)
    })
  }
})

/** A key with every permission that is not enough for the operation. */
async function weakKey(service: Service, { access: { permission, ownPermission } }: Operation): Promise<string> {
  // The permission `write` includes `invoke`.
  const enough = new Set([permission, ownPermission, [permission, ownPermission].includes('invoke') && 'write'])
  const others = Permission.options.filter((name) => !enough.has(name))
  return (await createKey(service, { permissions: others, tier: 'enterprise' })).secret
}

describe('every command', () => {
  test('has its row in docs/cli.md, and --json unless it makes no sense', async () => {
    const cli = readDoc('docs/cli.md')
    const world = { env: {}, cwd: '/', serviceFolder: '/', signal: AbortSignal.abort() }
    const { stdin, stdout, stderr } = process
    const program = await buildProgram({ ...world, stdin, stdout, stderr }, () => true)
    const leaves = program.commands.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))
    assert.ok(leaves.length > 50)
    for (const leaf of leaves) {
      const name = leaf.parent === program ? leaf.name() : `${leaf.parent?.name()} ${leaf.name()}`
      const words = leaf.registeredArguments.map((word) => {
        const shown = word.variadic ? `${word.name()}...` : word.name()
        return word.required ? `<${shown}>` : `[${shown}]`
      })
      const row = `| \`${[name, ...words].join(' ')}\` | ${leaf.description()} |`
      assert.ok(cli.includes(row), `missing: ${row}`)
      const isSpeechless = ['start', 'completion', 'config schema'].includes(name)
      assert.equal(
        leaf.options.some(({ long }) => long === '--json'),
        !isSpeechless,
        name,
      )
    }
  })
})

async function settle(result: ReturnType<Call>): Promise<void> {
  try {
    if ('then' in result) await result
    else for await (const _ of result) break
  } catch {
    // The IDs name nothing that exists: only the request is tested.
  }
}

/** Passes every request on to the service, and notes which operation it was. */
async function startRecorder(target: string): Promise<LocalServer & { reached: string[] }> {
  const patterns = described
    .map(({ operationId, method, path }) => ({ operationId, method, path }))
    .toSorted((a, b) => a.path.split('{').length - b.path.split('{').length)
    .map((one) => ({ ...one, pattern: new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  const recorder = { reached: [] as string[] }
  const server = await startLocalServer((incoming, outgoing) => {
    const { method, url = '/', headers } = incoming
    const path = url.split('?')[0] as string
    const found = patterns.find((one) => one.method === method && one.pattern.test(path))
    recorder.reached.push(found?.operationId ?? `${method} ${path}`)
    const forward = httpRequest(new URL(url, target), { method, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(outgoing)
    })
    incoming.pipe(forward)
  })
  return Object.assign(recorder, server)
}
