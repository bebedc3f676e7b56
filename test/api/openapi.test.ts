import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { stringify } from 'yaml'
import { STATUS_OF } from '../../src/errors.ts'
import { operations } from '../../src/operations.ts'
import { checkReply } from '../support/clients/openapi.ts'
import { approve } from '../support/running/approved.ts'
import { type Service, startService, withService } from '../support/service/service.ts'

type DocumentedOperation = {
  operationId: string
  parameters: { name: string; in: string; required: boolean }[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, unknown>
}
type Schema = { [name: string]: unknown }

describe('the OpenAPI document', () => {
  let service: Service
  let document: {
    openapi: string
    paths: Record<string, Record<string, DocumentedOperation>>
    components: { schemas: Schema }
  }
  before(async () => {
    service = await startService('sqlite')
    document = (await service.call('GET', '/v1/openapi.json', { key: null })).body
  })
  after(() => service.stop())

  test('is OpenAPI 3.1 to a strict linter', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'moorage-openapi-'))
    try {
      const file = join(folder, 'openapi.json')
      await writeFile(file, JSON.stringify(document))
      const program = fileURLToPath(new URL('../../node_modules/@redocly/cli/bin/cli.js', import.meta.url))
      const config = fileURLToPath(new URL('../../redocly.yaml', import.meta.url))
      const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
      const lint = promisify(execFile)(process.execPath, [program, 'lint', file, '--config', config], { env })
      const { stderr } = await lint.catch((error: { stdout: string; stderr: string }) => {
        throw new Error(error.stdout + error.stderr)
      })
      assert.match(stderr, /valid/)
      assert.doesNotMatch(stderr, /\d+ (warning|error)/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('the description of each operation, parameter, limit and field is as approved', (t) => {
    approve(t, 'api/openapi.yaml', stringify(withoutRefusals(document), { lineWidth: 0, aliasDuplicateObjects: false }))
  })

  test('describes every operation, and nothing else', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`),
    )
    assert.deepEqual(
      described.toSorted(),
      operations.map(({ id, method, path }) => `${id} ${method} ${path}`).toSorted(),
    )
  })

  test('every reference resolves', () => {
    const refs = [...walk(document)].flatMap((value) => (typeof value.$ref === 'string' ? [value.$ref] : []))
    assert.ok(refs.length > 50)
    for (const ref of new Set(refs)) {
      const found = ref
        .replace(/^#\//, '')
        .split('/')
        .reduce<unknown>((value, name) => (value as Schema | undefined)?.[name], document)
      assert.ok(found, ref)
    }
  })

  test('type names are valid for code generators', () => {
    for (const name of Object.keys(document.components.schemas)) assert.match(name, /^[A-Z][A-Za-z0-9]+$/)
  })

  test('describes each path parameter and every reply of each operation', () => {
    for (const { method, path, access, input, answer, idempotent } of operations) {
      const { status: success = 200, errors = [] } = answer
      const { parameters, responses } = (document.paths[path] as Record<string, unknown>)[
        method.toLowerCase()
      ] as DocumentedOperation
      const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
      assert.deepEqual(
        inPath,
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      )
      const statuses = [
        success,
        400,
        401,
        429,
        500,
        503,
        ...(access.permission ? [403] : []),
        ...(inPath.length > 0 ? [404] : []),
        ...(input?.body ? [413, 415] : []),
        ...(idempotent ? [409, 422] : []),
        ...errors.map((code) => STATUS_OF[code]),
      ]
      for (const status of statuses) assert.ok(responses[status], `${method} ${path} does not document ${status}`)
    }
  })

  test('request bodies allow no unknown fields', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const { requestBody } of Object.values(methods)) {
        const schema = requestBody?.content['application/json']?.schema
        if (!schema) continue
        const name = typeof schema.$ref === 'string' ? (schema.$ref.split('/').at(-1) as string) : ''
        const resolved = (document.components.schemas[name] ?? schema) as Schema
        assert.equal(resolved.additionalProperties, false, path)
      }
    }
  })

  test('every default and example matches its schema', () => {
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    ajv.addSchema(document, 'api')
    let checked = 0
    for (const schema of walk(document)) {
      const { default: fallback, example, examples, ...rest } = schema
      if (typeof rest.type !== 'string' && !rest.$ref && !rest.anyOf && !rest.oneOf && !rest.enum) continue
      const values = [fallback, example, ...(Array.isArray(examples) ? examples : [])]
      for (const value of values.filter((given) => given !== undefined)) {
        const isValid = ajv.compile(JSON.parse(JSON.stringify(rest).replaceAll('"#/', '"api#/')))
        assert.ok(isValid(value), `${JSON.stringify(value)} in ${JSON.stringify(rest)}`)
        checked++
      }
    }
    assert.ok(checked > 20, `${checked}`)
  })

  describe('as the check of every reply in these tests', () => {
    const judge = (status: number, body: unknown) => {
      const headers = new Headers({ 'content-type': 'application/json' })
      checkReply('GET', '/v1/agents/hello', { status, headers, text: JSON.stringify(body), body })
    }

    test('accepts a valid reply', async () => {
      const { status, body } = await service.call('GET', '/v1/agents/hello')
      judge(status, body)
    })

    test('rejects a missing field, a wrong type, an unknown envelope and an undocumented status', async () => {
      const { body } = await service.call('GET', '/v1/agents/hello')
      const { name: _, ...nameless } = body.data
      assert.throws(() => judge(200, { ...body, data: nameless }), /must have required property 'name'/)
      assert.throws(() => judge(200, { ...body, data: { ...body.data, name: 7 } }), /must be string/)
      assert.throws(() => judge(200, { success: true }), /must have required property 'data'/)
      assert.throws(() => judge(200, { data: body.data }), /must have required property 'success'/)
      assert.throws(() => judge(200, { ...body, extra: 1 }), /must NOT have additional properties/)
      assert.throws(() => judge(418, body), /does not document 418/)
    })
  })
})

/** Every object within a value. */
function* walk(value: unknown): Generator<Schema> {
  if (value === null || typeof value !== 'object') return
  if (!Array.isArray(value)) yield value as Schema
  for (const inner of Object.values(value)) yield* walk(inner)
}

/** The document with only the error codes of its refusals, which are all alike. */
function withoutRefusals<D extends { paths: Record<string, Record<string, DocumentedOperation>> }>(document: D): D {
  const shorter = structuredClone(document)
  for (const described of Object.values(shorter.paths).flatMap((methods) => Object.values(methods))) {
    for (const status of Object.keys(described.responses)) {
      if (Number(status) < 400) continue
      described.responses[status] = (described.responses[status] as Schema)['description']
    }
  }
  return shorter
}

test('the OpenAPI document names the address under which clients reach the service', () =>
  withService(
    'sqlite',
    async (service) => {
      const { body } = await service.call('GET', '/v1/openapi.json', { key: null })
      assert.deepEqual(body.servers, [{ url: 'https://agents.example.com/moorage' }])
    },
    { MOORAGE_SERVER__PUBLIC_URL: 'https://agents.example.com/moorage/' },
  ))
