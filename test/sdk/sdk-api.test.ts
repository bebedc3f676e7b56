import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { renderApiDocs } from '../../scripts/render-api-docs.ts'
import { renderCliDocs } from '../../scripts/render-cli-docs.ts'
import { renderCliTable } from '../../scripts/render-cli-table.ts'
import { renderPythonMethods, renderPythonTypes } from '../../scripts/render-python.ts'
import { renderSdkApi } from '../../scripts/render-sdk-api.ts'
import { renderSdkMethods } from '../../scripts/render-sdk-methods.ts'
import { openApiDocument } from '../../src/http/reference/openapi.ts'
import { operations } from '../../src/operations.ts'

const RENDERED = {
  'sdk/api.ts': renderSdkApi,
  'sdk/methods.ts': renderSdkMethods,
  'python/moorage/types.py': renderPythonTypes,
  'python/moorage/_methods.py': renderPythonMethods,
  'src/cli/from-operations/command-table.ts': renderCliTable,
}

for (const [file, render] of Object.entries(RENDERED)) {
  test(`${file} matches the service; \`npm run sdk:types\` writes it`, async () => {
    const written = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
    assert.ok(written === render(await openApiDocument(operations)), `${file} is stale: run npm run sdk:types`)
  })
}

test('docs/api.md matches the service; `npm run sdk:types` writes it', async () => {
  const written = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8')
  const rendered = renderApiDocs(written, await openApiDocument(operations))
  assert.ok(written === rendered, 'docs/api.md is stale: run npm run sdk:types')
})

test('docs/cli.md has a row for each command; `npm run sdk:types` writes them', async () => {
  const written = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
  assert.ok(written === (await renderCliDocs(written)), 'docs/cli.md is stale: run npm run sdk:types')
})

test('an operation whose noun has no group in the SDK is refused', () => {
  const get = { operationId: 'getHarbour', summary: 'Get a harbour', parameters: [], responses: {} }
  const document = { paths: { '/v1/harbour': { get } } } as unknown as Parameters<typeof renderSdkMethods>[0]
  assert.throws(() => renderSdkMethods(document), /getHarbour has no group/)
})

test('unions, records, nullable and optional fields as TypeScript', () => {
  const schemas = {
    Error: { type: 'object', required: ['error'], properties: { error: { enum: ['a', 1, null] } } },
    Thing: {
      type: 'object',
      required: ['id', 'list'],
      properties: {
        id: { type: 'string', description: 'Its name' },
        list: { type: 'array', items: { anyOf: [{ type: 'integer' }, { type: 'null' }] } },
        'odd-name': { type: 'object', additionalProperties: { $ref: '#/components/schemas/Error' } },
        any: { $ref: '#/components/schemas/__schema0' },
        both: { allOf: [{ type: 'boolean' }, {}] },
      },
    },
    __schema0: {},
  }
  const text = renderSdkApi({ paths: {}, components: { schemas } })
  assert.match(text, /export type ErrorReply = \{\n {2}error: 'a' \| 1 \| null\n\}/)
  assert.ok(
    text.includes(`export type Thing = {
  /** Its name */
  id: string
  list: (number | null)[]
  'odd-name'?: Record<string, ErrorReply> | undefined
  any?: Json | undefined
  both?: boolean & unknown | undefined
}`),
    text,
  )
})
