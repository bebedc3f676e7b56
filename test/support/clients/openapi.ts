import assert from 'node:assert/strict'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { openApiDocument } from '../../../src/http/reference/openapi.ts'
import { operations } from '../../../src/operations.ts'

type Answer = { content?: Record<string, { schema?: object }> }

type Document = { paths: Record<string, Record<string, { responses: Record<string, Answer | undefined> }>> }

type Checker = {
  document: Document
  ajv: Ajv2020
  compiled: Map<string, ValidateFunction>
  /** The same, found without writing the schema as text. */
  known: WeakMap<object, ValidateFunction>
  /** The document's paths, those with the most literal segments first: `/v1/keys/self` isn't a key's ID. */
  templates: { template: string; pattern: RegExp }[]
}

let checker: Checker | undefined

/** Fails if the service's own OpenAPI document doesn't describe this reply. Paths that aren't in the document pass. */
export function checkReply(
  method: string,
  path: string,
  { status, headers, text, body }: { status: number; headers: Headers; text: string; body: unknown },
): void {
  if (!(headers.get('content-type') ?? '').startsWith('application/json')) return
  checker ??= newChecker()
  const { document, ajv, compiled, known, templates } = checker
  const [target = ''] = path.split('?')
  const template = templates.find(({ pattern }) => pattern.test(target))?.template
  const operation = template && document.paths[template]?.[method.toLowerCase()]
  if (!operation) return
  assert.ok(operation.responses[status], `${method} ${template} does not document ${status}: ${text}`)

  const schema = operation.responses[status]?.content?.['application/json']?.schema
  assert.ok(schema, `${method} ${template} documents no JSON for ${status}: ${text}`)
  const check = known.get(schema) ?? compile(ajv, compiled, schema)
  known.set(schema, check)
  assert.ok(check(body), `${method} ${path} ${status}: ${ajv.errorsText(check.errors)}\n${text}`)
}

/** Most operations share the schema of their refusals. */
function compile(ajv: Ajv2020, compiled: Map<string, ValidateFunction>, schema: object): ValidateFunction {
  const written = JSON.stringify(schema)
  const check = compiled.get(written) ?? ajv.compile(withinDocument(written))
  compiled.set(written, check)
  return check
}

const withinDocument = (written: string) => JSON.parse(written.replaceAll('"$ref":"#', '"$ref":"api#'))

/**
 * Built here instead of requested from the service, because a service that refuses all clients doesn't serve it either.
 */
const described = JSON.stringify(await openApiDocument(operations))

function newChecker(): Checker {
  const document = JSON.parse(described) as Document
  // Most checks are used a few times in each process, so optimizing their code takes longer than it saves.
  const ajv = new Ajv2020({ strict: false, allErrors: true, code: { optimize: false } })
  addFormats.default(ajv)
  ajv.addSchema(document, 'api')
  const templates = Object.keys(document.paths)
    .toSorted((a, b) => a.split('{').length - b.split('{').length)
    .map((template) => ({ template, pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  return { document, ajv, compiled: new Map(), known: new WeakMap(), templates }
}
