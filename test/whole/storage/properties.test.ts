import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Operation } from '../../../src/operation.ts'
import { operations } from '../../../src/operations.ts'
import { bodySchema, pathOf, querySchemas, SAMPLE_SETTINGS } from '../../support/clients/requests.ts'
import { breaking, fitting, nastyText } from '../../support/running/arbitrary.ts'
import { fc } from '../../support/running/property.ts'
import { onOneEngine, type Service } from '../../support/service/service.ts'
import { createAgent } from '../../support/slices/resources.ts'

const RUNS = Number(process.env['MOORAGE_TEST_RUNS'] ?? 12)

type SentRequest = { path: string; body: string | undefined; headers: Record<string, string> }

onOneEngine(
  'no input gives a 5xx',
  (service, engine) => {
    // What is refused does not reach the store: most of it need not be sent to both.
    const runs = engine === 'sqlite' ? RUNS : Math.ceil(RUNS / 4)
    for (const operation of operations) {
      test(`${operation.method} ${operation.path}`, async () => {
        const agent_id = await createAgent(service(), `for-${operation.id.toLowerCase()}`)
        await fc.assert(
          fc.asyncProperty(anyRequest(operation, agent_id), async ({ path, body, headers }) => {
            const reply = await service().call(operation.method, path, { body, headers })
            assert.ok(reply.status < 500, `${reply.text}\n${service().log().split('\n').slice(-3).join('\n')}`)
          }),
          { numRuns: runs },
        )
      })
    }
  },
  SAMPLE_SETTINGS,
)

onOneEngine('no malformed request causes a 5xx', (service) => {
  test('paths of any kind', () =>
    fc.assert(
      fc.asyncProperty(fc.array(nastyText, { maxLength: 4 }), fc.constantFrom('GET', 'POST'), async (words, method) => {
        const path = `/v1/${words.map(encode).join('/')}`
        const { status, text } = await service().call(method, path)
        assert.ok(status >= 400 && status < 500, text)
      }),
      { numRuns: RUNS * 4 },
    ))

  test('with bytes that are not JSON', () =>
    fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 60 }), async (bytes) => {
        assert.ok((await postBytes(service(), bytes)) < 500)
      }),
      { numRuns: RUNS * 4 },
    ))
})

describe('the generator', () => {
  test('reaches every body and every query parameter that the operations have', () => {
    for (const operation of operations) {
      const { body, query, upload } = operation.input ?? {}
      assert.equal(bodySchema(operation) !== undefined, body !== undefined && !upload, operation.id)
      const names = querySchemas(operation).map(({ name }) => name)
      assert.deepEqual(names.toSorted(), Object.keys(query?.shape ?? {}).toSorted(), operation.id)
    }
  })

  test('makes requests that succeed, too', () => {
    const create = operations.find(({ id }) => id === 'createAgent') as Operation
    const samples = fc.sample(fitting(bodySchema(create) ?? {}), { numRuns: 100 })
    const fits = samples.filter((sample) => create.input?.body?.safeParse(sample).success)
    assert.ok(fits.length >= 5, `${fits.length} of 100 fit`)
  })
})

/** Right and wrong bodies, queries and headers, to what exists and to what does not. */
function anyRequest(operation: Operation, agent_id: string): fc.Arbitrary<SentRequest> {
  const schema = bodySchema(operation)
  const body = schema
    ? fc.oneof(fitting(schema), breaking(schema)).map((value) => JSON.stringify(value) ?? 'undefined')
    : fc.constant(undefined)
  const agent = operation.method === 'DELETE' ? nastyText.map(encode) : fc.constantFrom(agent_id, agent_id, 'hello')
  const other = fc.oneof(nastyText.map(encode), fc.constant('key_00000000000000000000000000'))
  const path = fc.tuple(agent, other).map(([first, second]) => {
    const params = { agent_id: first, key_id: second, webhook_id: second, deployment_id: second, request_id: second }
    return pathOf(operation, params)
  })
  const query = fc.oneof(fc.constant({}), fittingQuery(operation), fc.dictionary(nastyText, nastyText, { maxKeys: 2 }))
  return fc
    .record({ path, query, body, headers: anyHeaders(operation) })
    .map(({ path: target, query: values, ...rest }) => ({ path: target + queryText(values), ...rest }))
}

function fittingQuery(operation: Operation): fc.Arbitrary<Record<string, unknown>> {
  const parameters = querySchemas(operation)
  const fields = parameters.map(({ name, schema }) => [name, fc.oneof(fitting(schema), nastyText)])
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
  return fc.record(Object.fromEntries(fields), { requiredKeys: required })
}

function anyHeaders({ answer: { streams } }: Operation): fc.Arbitrary<Record<string, string>> {
  const visible = fc.stringMatching(/^[\x21-\x7e]{1,40}$/)
  return fc.record(
    {
      'Idempotency-Key': fc.oneof(visible, fc.constant('x'.repeat(256)), fc.constant('"')),
      Accept: fc.constantFrom('*/*', 'text/event-stream', 'text/html'),
      'Last-Event-ID': visible,
      'X-Forwarded-For': visible,
      ...(!streams && { Prefer: fc.constantFrom('respond-async', 'wait=10', ',;,') }),
    },
    { requiredKeys: [] },
  )
}

function queryText(values: Record<string, unknown>): string {
  const pairs = Object.entries(values).map(([name, value]) => `${encode(name)}=${encode(String(value))}`)
  return pairs.length > 0 ? `?${pairs.join('&')}` : ''
}

/** Half a surrogate pair has no encoding; a word of a path must not vanish as `.` and `..` do. */
function encode(text: string): string {
  const encoded = encodeURIComponent(text.toWellFormed())
  return encoded === '.' || encoded === '..' ? encoded.replaceAll('.', '%2e') : encoded
}

async function postBytes({ url, admin }: Service, bytes: Uint8Array): Promise<number> {
  const headers = { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/v1/agents`, { method: 'POST', headers, body: Buffer.from(bytes) })
  await response.arrayBuffer()
  return response.status
}
