import { STATUS_OF } from '../src/errors.ts'
import {
  type OpenApi,
  type OperationObject,
  operationsOf,
  type ShownSchema,
} from '../src/http/reference/openapi-document.ts'

/**
 * Makes sdk/api.ts from the OpenAPI document: every schema and operation as TypeScript, and the path of each operation.
 */
export function renderSdkApi(document: Pick<OpenApi, 'paths' | 'components'>): string {
  const operations = operationsOf(document)
  const schemas = Object.entries(document.components.schemas).filter(([name]) => !isJson(name))
  return [
    '// Made from the OpenAPI document by `npm run sdk:types`; not to be edited.',
    '',
    'export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }',
    ...schemas.flatMap(([name, schema]) => ['', ...docComment(schema.description, ''), declare(name, schema)]),
    '',
    "export type ErrorCode = ErrorReply['error']['code']",
    '',
    `export const STATUS_OF: Record<ErrorCode, number> = ${JSON.stringify(STATUS_OF)}`,
    '',
    'export type Operations = {',
    ...operations.map(operationType),
    '}',
    '',
    'export const routes = {',
    ...operations.map(({ operationId, method, path }) => `  ${operationId}: { method: '${method}', path: '${path}' },`),
    '} as const',
    '',
  ].join('\n')
}

/** `Error` is a name of the language. */
const nameOf = (name: string) => (name === 'Error' ? 'ErrorReply' : name)

/** zod gives such an ID to a recursive schema without a name. In our shapes, this is any JSON value. */
const isJson = (name: string) => name.startsWith('__schema')

function declare(name: string, schema: ShownSchema): string {
  return `export type ${nameOf(name)} = ${typeOf(schema, '')}`
}

function operationType({ operationId, summary, parameters, requestBody, responses }: OperationObject): string {
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const reply = success?.content?.['application/json']?.schema.properties ?? {}
  const data = reply.data ?? {}
  const lines = success?.content?.['application/x-ndjson']?.schema
  const body = requestBody?.content['application/json']
  const fields = [
    inPath.length > 0 && `params: ${object(inPath.map((parameter) => [parameter, parameter.schema]))}`,
    inQuery.length > 0 && `query: ${object(inQuery.map((parameter) => [parameter, parameter.schema]))}`,
    body && `body${requestBody.required ? '' : '?'}: ${typeOf(body.schema, '    ')}`,
    lines
      ? `line: ${typeOf(lines, '    ')}`
      : reply.pagination
        ? `item: ${typeOf(data.items ?? {}, '    ')}`
        : `data: ${typeOf(data, '    ')}`,
  ].filter((line) => typeof line === 'string')
  return [`  /** ${summary} */`, `  ${operationId}: {`, ...fields.map((line) => `    ${line}`), '  }'].join('\n')
}

function object(fields: [{ name: string; required: boolean }, ShownSchema][]): string {
  return `{ ${fields.map(([{ name, required }, schema]) => `${name}${optional(required)}: ${typeOf(schema, '    ')}${orUndefined(required)}`).join('; ')} }`
}

function typeOf(schema: ShownSchema, indent: string): string {
  if (schema.$ref) {
    const name = schema.$ref.slice('#/components/schemas/'.length)
    return isJson(name) ? 'Json' : nameOf(name)
  }
  if ('const' in schema) return literal(schema.const)
  if (schema.enum) return schema.enum.map(literal).join(' | ')
  const options = schema.anyOf ?? schema.oneOf
  if (options) return [...new Set(options.map((option) => typeOf(option, indent)))].join(' | ')
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, indent)).join(' & ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ')
  if (schema.type === 'array') return arrayOf(typeOf(schema.items ?? {}, indent))
  if (schema.type === 'object') return objectType(schema, indent)
  return PLAIN[schema.type ?? ''] ?? 'unknown'
}

const PLAIN: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

function objectType({ properties = {}, required = [], additionalProperties }: ShownSchema, indent: string): string {
  const fields = Object.entries(properties)
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : undefined
  if (fields.length === 0) return others ? `Record<string, ${others}>` : 'Record<string, never>'
  const inner = `${indent}  `
  const lines = fields.flatMap(([name, schema]) => [
    ...docComment(schema.description, inner),
    `${inner}${property(name)}${optional(required.includes(name))}: ${typeOf(schema, inner)}${orUndefined(required.includes(name))}`,
  ])
  if (others) lines.push(`${inner}[name: string]: unknown`)
  return `{\n${lines.join('\n')}\n${indent}}`
}

const optional = (required: boolean) => (required ? '' : '?')
const orUndefined = (required: boolean) => (required ? '' : ' | undefined')
const literal = (value: unknown) => (typeof value === 'string' ? `'${value.replaceAll("'", "\\'")}'` : String(value))
const property = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : literal(name))
const arrayOf = (item: string) => (/^[\w]+$/.test(item) ? `${item}[]` : `(${item})[]`)

function docComment(text: string | undefined, indent: string): string[] {
  return text === undefined ? [] : [`${indent}/** ${text.replaceAll('*/', '* /')} */`]
}
