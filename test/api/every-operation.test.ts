import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { METHODS } from 'node:http'
import { before, describe, test } from 'node:test'
import type { Operation } from '../../src/operation.ts'
import { operations } from '../../src/operations.ts'
import { newKey } from '../../src/security/key-format.ts'
import { covers, Permission } from '../../src/security/permissions.ts'
import { assertRateLimitHeaders, assertStandardHeaders, head, sendRaw } from '../support/clients/raw.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { operationsForKeys, pathOf, SAMPLE_SETTINGS, sampleBody } from '../support/clients/requests.ts'
import { onOneEngine, type Reply } from '../support/service/service.ts'
import { createKey } from '../support/slices/resources.ts'

const SETTINGS = { ...SAMPLE_SETTINGS, MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '100000' }

// What holds for every operation, read off the list of them. Every reply is also held against the OpenAPI document.
onOneEngine(
  'every operation refuses',
  (service) => {
    /** For each operation a key that holds every permission but those that let it in. */
    const without = new Map<string, string>()
    before(async () => {
      const secrets = new Map<string, string>()
      for (const operation of operations.filter(({ access }) => access.permission !== null)) {
        const permissions = notEnough(operation)
        const secret =
          secrets.get(permissions.join()) ?? (await createKey(service(), { permissions, tier: 'enterprise' })).secret
        secrets.set(permissions.join(), secret)
        without.set(operation.id, secret)
      }
    })
    const send = (operation: Operation, options: { key?: string | null; body?: unknown; query?: string } = {}) => {
      const { query = '', ...rest } = { body: sampleBody(operation), ...options }
      return service().call(operation.method, pathOf(operation) + query, rest)
    }

    for (const operation of operationsForKeys) {
      const { id, method, path } = operation
      const { permission } = operation.access
      describe(`${method} ${path} (${id})`, () => {
        test('401 without a key and with a wrong one, with the same message', async () => {
          const replies = [await send(operation, { key: null }), await send(operation, { key: newKey(randomBytes) })]
          for (const reply of replies) {
            assertError(reply, 401, 'unauthorized')
            assert.equal(reply.headers.get('www-authenticate'), 'Bearer realm="moorage"')
          }
          assert.deepEqual(replies[0]?.body.error, replies[1]?.body.error)
        })

        if (permission !== null) {
          test(`403 for a key with all permissions except ${permission} and those that include it`, async () => {
            const reply = await send(operation, { key: without.get(id) as string })
            assertError(reply, 403, 'forbidden')
            assert.match(reply.body.error.message, new RegExp(`"${permission}"`))
            assertRateLimitHeaders(reply)
          })
        }

        test('400 for an unknown query parameter, naming it', async () => {
          const reply = await send(operation, { query: '?surprise=1' })
          assertError(reply, 400, 'invalid_request')
          const fields = fieldsOf(reply.body)
          assert.ok(fields.includes('surprise'), reply.text)
        })

        // The body of an upload is a file, and may be anything.
        if (operation.input?.upload) return
        test(
          operation.input?.body ? '400 for an unknown field, naming it' : '400 for a body it does not take',
          async () => {
            const reply = await send(operation, {
              body: { ...sampleBody(operation), surprise: 1 },
              ...(method === 'GET' && { body: undefined, query: '?surprise=1' }),
            })
            assertError(reply, 400, 'invalid_request')
            if (operation.input?.body) assert.deepEqual(fieldsOf(reply.body), ['surprise'])
          },
        )
      })
    }

    const templates = [...new Set(operations.map(({ path }) => path))]
    for (const template of templates) {
      test(`405 for every other method on ${template}`, async () => {
        const target = pathOf({ path: template } as Operation)
        const allowed = operations
          .filter(({ path }) => matches(path, target))
          .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
        const others = METHODS.filter((method) => method !== 'CONNECT' && !allowed.includes(method))
        const auth = { Authorization: `Bearer ${service().admin}`, Connection: 'keep-alive' }
        const replies = await sendRaw(
          service().url,
          others
            // A reply to HEAD has no body, so the start of the next reply couldn't be found.
            .filter((method) => method !== 'HEAD')
            .map((method) => head(`${method} ${target}`, auth))
            .join('') + head('GET /healthz'),
        )
        assert.equal(replies.pop()?.body.status, 'ok')
        assert.equal(replies.length, others.filter((method) => method !== 'HEAD').length)
        for (const reply of replies) {
          assertError(reply, 405, 'method_not_allowed')
          assert.equal(reply.headers.get('allow'), [...new Set(allowed)].join(', '))
        }
      })
    }
  },
  SETTINGS,
)

describe('the list of operations', () => {
  test('ids, summaries and routes are unique', () => {
    for (const of of [
      ({ id }: Operation) => id,
      ({ summary }: Operation) => summary,
      ({ method, path }: Operation) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`,
    ]) {
      const values = operations.map(of)
      assert.deepEqual(values, [...new Set(values)])
    }
  })

  test('every POST and PATCH accepts an Idempotency-Key, and nothing else does', () => {
    const takes = operations.filter(({ idempotent }) => idempotent).map(({ id }) => id)
    const should = operations
      .filter(({ method, access }) => (method === 'POST' || method === 'PATCH') && !access.ofRuns)
      .map(({ id }) => id)
    assert.deepEqual(takes, should)
  })

  test('reads need read and deletes need delete; keys, secrets, budgets, the audit log and telemetry need manage', () => {
    for (const { id, method, path, access } of operationsForKeys) {
      const { permission } = access
      if (id === 'getSelf' || id === 'createConsoleLink') assert.equal(permission, null)
      else if (id === 'invokeAgent' || id === 'listInvocable' || id === 'createFile') assert.equal(permission, 'invoke')
      else if (
        /^\/v1\/(keys|connected-applications|people|invitations|secrets|budgets|audit|telemetry|console|system)/.test(
          path,
        )
      )
        assert.equal(permission, 'manage', id)
      // A project is for administrators to make, to pause, and to price; every key may ask for its own.
      else if (/Project|Pause|moveAgent|repriceUsage|Price/.test(id))
        assert.equal(permission, method === 'GET' ? 'read' : 'manage', id)
      // Who writes agents chooses from the providers.
      else if (path.startsWith('/v1/providers')) assert.equal(permission, method === 'GET' ? 'write' : 'manage', id)
      else if (id === 'decideApproval') assert.equal(permission, 'approve')
      // The URL of a trigger can be enough to start runs.
      else if (/Triggers?$/.test(id)) assert.equal(permission, 'write')
      // An application acts for its users: it links them, confirms who they are, and ends their sign-ins.
      else if (path.startsWith('/v1/connections'))
        assert.equal(permission, /Link|Grant/.test(id) ? 'invoke' : 'manage', id)
      else if (id === 'giveFeedback' || id === 'deleteFeedback') assert.equal(permission, 'invoke')
      else if (method === 'GET' || id === 'searchMemory') assert.equal(permission, 'read', id)
      else if (method === 'DELETE') assert.equal(permission, 'delete', id)
      else assert.equal(permission, 'write', id)
    }
  })

  test("includes the eighteen operations of the service's specification, at the specified paths", () => {
    const routes = new Set(operations.map(({ method, path }) => `${method} ${path}`))
    const missing = SPECIFIED.filter((route) => !routes.has(route as never))
    assert.deepEqual(missing, [])
  })
})

const SPECIFIED = [
  'POST /v1/agents/{agent_id}/invoke',
  'GET /v1/agents',
  'GET /v1/agents/{agent_id}',
  'PATCH /v1/agents/{agent_id}',
  'DELETE /v1/agents/{agent_id}',
  'POST /v1/agents/{agent_id}/deployments',
  'GET /v1/agents/{agent_id}/deployments',
  'POST /v1/agents/{agent_id}/deployments/{deployment_id}/rollback',
  'GET /v1/agents/{agent_id}/logs',
  'GET /v1/agents/{agent_id}/metrics',
  'POST /v1/agents/{agent_id}/memory/search',
  'DELETE /v1/agents/{agent_id}/memory',
  'POST /v1/webhooks',
  'GET /v1/webhooks',
  'DELETE /v1/webhooks/{webhook_id}',
  'POST /v1/keys',
  'GET /v1/keys',
  'DELETE /v1/keys/{key_id}',
]

function notEnough({ access: { permission, ownPermission } }: Operation): Permission[] {
  const enough = [permission, ownPermission].flatMap((name) => name ?? [])
  return Permission.options.filter((held) => !enough.some((name) => covers([held], name)))
}

function matches(template: string, path: string): boolean {
  return new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
}

function assertError(reply: Reply, status: number, code: string): void {
  assert.equal(reply.status, status, reply.text)
  const { details: _, message, retry_after: __, ...rest } = reply.body.error
  assert.equal(typeof message, 'string')
  assert.deepEqual(
    { ...reply.body, error: rest },
    { success: false, error: { code }, request_id: reply.headers.get('x-request-id') },
  )
  assertStandardHeaders(reply.headers)
  if (status !== 401) assertRateLimitHeaders(reply)
}
