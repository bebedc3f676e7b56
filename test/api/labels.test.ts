import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { operations } from '../../src/operations.ts'
import { bodySchema, resolve, SAMPLE_SETTINGS, type Schema } from '../support/clients/requests.ts'
import { NOWHERE } from '../support/outside/local-server.ts'
import { JWT_SECRET, JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { onAnyEngine } from '../support/service/service.ts'

/** Characters that break lines, move the cursor or change the direction of the text after them. */
const BAD = ['\r', '\n', '\t', '\u0001', '\u001b', '\u007f', '\u0085', '\u009b', '\u2028', '\u2029', '\u202e', '\u2066']

/** Texts written by people and models, which can contain line breaks. Their fields have their own rules. */
const FREE_TEXT =
  /(^|\.)(instructions|content|query|fallback|reply|fail|equals|not_equals|in|not_in|contains|starts_with)$/
const FREE_TEXT_OF: Record<string, string[]> = {
  invokeAgent: ['message'],
  createSchedule: ['message'],
  updateSchedule: ['message'],
  createTrigger: ['message'],
  updateTrigger: ['message'],
  decideApproval: ['note', 'answer'],
  giveFeedback: ['comment'],
  putSet: ['description', 'cases.message', 'cases.checks.value'],
  createReplay: ['checks.value'],
  createLink: ['welcome'],
  createAgent: ['description', 'tools.description'],
  updateAgent: ['description', 'tools.description'],
  testTool: ['tool.description'],
  checkRemote: ['message'],
  takeSteps: ['steps.question', 'steps.options', 'steps.message', 'steps.tool'],
}
/** Never displayed: a secret, a certificate. */
const UNSEEN = /(^|\.)(secret|clientSecret|caCert)$/
/** Looked up, and refused if nothing has that name. Addresses and headers are parsed. */
const LOOKED_UP = /(^|\.)(agent_id|delivery_id|key_id|model|url|a2a|window|addresses|origins|provider|headers)$/

describe('every text in a body is a label, or may have lines', () => {
  for (const operation of operations.filter(({ input }) => input?.body && !input.upload)) {
    test(operation.id, () => {
      const open = textsIn(bodySchema(operation) as Schema).filter(({ schema }) => admits(schema, 'a\nb'))
      const others = open
        .map(({ path }) => path)
        .filter((path) => !FREE_TEXT.test(path) && !UNSEEN.test(path) && !LOOKED_UP.test(path))
      const allowed = FREE_TEXT_OF[operation.id] ?? []
      assert.deepEqual(
        [...new Set(others)].filter((path) => !allowed.includes(path)),
        [],
      )
    })
  }
})

onAnyEngine(
  'labels',
  (service) => {
    const url = `${NOWHERE}/hook`
    const labels: [method: string, path: string, field: string, body: (text: string) => object][] = [
      ['POST', '/v1/keys', 'name', (name) => ({ name, role: 'viewer' })],
      ['POST', '/v1/keys', 'role', (role) => ({ name: 'x', role })],
      ['POST', '/v1/keys', 'tier', (tier) => ({ name: 'x', role: 'viewer', tier })],
      ['POST', '/v1/webhooks', 'description', (description) => ({ url, events: ['*'], description })],
      ['POST', '/v1/webhooks', 'url', (text) => ({ url: `${url}${text}x`, events: ['*'] })],
      ['POST', '/v1/agents', 'name', (name) => ({ name })],
      ['POST', '/v1/agents/hello/deployments', 'version', (version) => ({ environment: 'test', version })],
      ['POST', '/v1/agents/hello/deployments', 'environment', (environment) => ({ environment, version: 'v1' })],
      ['POST', '/v1/agents/hello/deployments', 'message', (message) => ({ environment: 'x', version: 'v1', message })],
      ['POST', '/v1/agents/hello/deployments/dep_x/rollback', 'message', (message) => ({ message })],
      ['POST', '/v1/agents/hello/invoke', 'context.user_id', (user_id) => ({ message: 'x', context: { user_id } })],
      [
        'POST',
        '/v1/agents/hello/invoke',
        'context.session_id',
        (session_id) => ({ message: 'x', context: { session_id } }),
      ],
      [
        'POST',
        '/v1/agents/hello/memory',
        'items.0.context.user_id',
        (user_id) => ({ items: [{ content: 'x', context: { user_id } }] }),
      ],
      ['PATCH', '/v1/agents/hello', 'auth.issuer', (issuer) => ({ auth: { type: 'jwt', secret: JWT_SECRET, issuer } })],
      [
        'PATCH',
        '/v1/agents/hello',
        'tools.0.allow.0',
        (name) => ({ tools: [{ type: 'mcp', url: 'https://mcp.example/', allow: [name] }] }),
      ],
      [
        'PATCH',
        '/v1/agents/hello',
        'security.mtls.clientCert',
        (clientCert) => ({ security: { mtls: { clientCert } } }),
      ],
    ]
    for (const [method, path, field, body] of labels) {
      test(`400 for control characters in ${field} of ${method} ${path}`, async () => {
        for (const bad of BAD) {
          const reply = await service().call(method, path, { body: body(`a${bad}b`) })
          assert.equal(reply.status, 400, `${JSON.stringify(bad)}: ${reply.text}`)
          assert.equal(reply.body.error.details[0].field, field)
        }
      })
    }

    test('a label can contain text in any language', async () => {
      for (const name of ['Bjørn’s key', 'مفتاح عربي', '鍵 №1', '🛥️ 👩‍🚀', 'a\u00a0b', 'שלום\u200f!']) {
        const reply = await service().call('POST', '/v1/keys', { body: { name, role: 'viewer' } })
        assert.equal(reply.status, 201, reply.text)
        assert.equal(reply.body.data.name, name)
      }
    })

    test('texts may have lines and tabs', async () => {
      const text = 'one\n\ttwo\r\nthree'
      const created = await service().call('POST', '/v1/agents', {
        body: { name: 'lines', description: text, instructions: text },
      })
      assert.equal(created.status, 201, created.text)
      const said = await service().call('POST', '/v1/agents/lines/invoke', { body: { message: text } })
      assert.equal(said.body.data.response, text)
      const items = [{ content: text }]
      assert.equal((await service().call('POST', '/v1/agents/lines/memory', { body: { items } })).status, 201)
    })

    test('401 for a token whose user or subject contains control characters', async () => {
      for (const claims of [{ user_id: 'a\u202eb' }, { sub: 'a\u2028b' }, { sub: 'a\u0085b' }]) {
        const key = await signJwt(claims)
        assert.equal((await service().call('GET', '/v1/agents', { key })).status, 401)
      }
    })
  },
  { ...SAMPLE_SETTINGS, ...JWT_SETTINGS },
)

type FoundLabel = { path: string; schema: Schema }

/** Every place in a schema that accepts a free text; items of lists count separately. */
function textsIn(given: Schema, path = ''): FoundLabel[] {
  const schema = resolve(given)
  const variants = [schema.anyOf, schema.oneOf, schema.allOf].flatMap((list) => (list ?? []) as Schema[])
  const inner = Object.entries((schema.properties ?? {}) as Record<string, Schema>).flatMap(([name, field]) =>
    textsIn(field, path === '' ? name : `${path}.${name}`),
  )
  const items = schema.items ? textsIn(schema.items as Schema, path) : []
  const own = schema.type === 'string' ? [{ path, schema }] : []
  return [...own, ...inner, ...items, ...variants.flatMap((variant) => textsIn(variant, path))]
}

function admits({ pattern, enum: values, format, const: only }: Schema, text: string): boolean {
  if (values !== undefined || only !== undefined || format === 'date-time') return false
  return typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text)
}
