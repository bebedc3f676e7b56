import type { CommandField, CommandRow } from '../src/cli/from-operations/command-row.ts'
import {
  type OpenApi,
  operationsOf,
  type PlacedOperation,
  type ShownSchema,
} from '../src/http/reference/openapi-document.ts'
import { placeOf } from './render-sdk-methods.ts'

/** Every list accepts these. The command line has its own way to ask for them. */
export const OF_EVERY_LIST = new Set(['limit', 'offset', 'sort'])

/** Makes the table from which the command line makes its commands: a line for each operation that a key may call. */
export function renderCliTable(document: Pick<OpenApi, 'paths' | 'components'>): string {
  const operations = operationsOf(document).filter(
    (operation) => !operation['x-for-people'] && !operation['x-for-remote-agents'],
  )
  return [
    '// Made from the OpenAPI document by `npm run sdk:types`; not to be edited.',
    "import type { CommandRow } from './command-row.ts'",
    '',
    'export const COMMAND_TABLE: Readonly<Record<string, CommandRow>> = {',
    ...operations.map((operation) => `  ${operation.operationId}: ${textOf(rowOf(operation, document))},`),
    '}',
    '',
  ].join('\n')
}

function rowOf(operation: PlacedOperation, document: Pick<OpenApi, 'components'>): CommandRow {
  const { method, parameters, requestBody, responses, summary } = operation
  const { group, name, isList } = placeOf(operation)
  const [status, reply] = Object.entries(responses).find(([code]) => code.startsWith('2')) ?? []
  const data = resolve(reply?.content?.['application/json']?.schema.properties?.data ?? {}, document)
  const body = requestBody && resolve(requestBody.content['application/json']?.schema ?? {}, document)
  const query = parameters.filter((parameter) => parameter.in === 'query')
  const params = parameters.filter((parameter) => parameter.in === 'path')
  const sorts = query.find((parameter) => parameter.name === 'sort')?.schema.enum as string[] | undefined
  return {
    group,
    name,
    summary,
    method,
    kind: isList ? 'list' : reply?.content?.['application/x-ndjson'] ? 'lines' : 'one',
    ...(status === '201' && { creates: true }),
    ...(data.properties?.['secret'] && { hasSecret: true }),
    ...(requestBody && { hasBody: true }),
    ...(query.length > 0 && { hasQuery: true }),
    ...(sorts && { sorts: sorts.filter((field) => !field.startsWith('-')) }),
    params: params.map((parameter) => ({
      name: parameter.name,
      ...(parameter.description !== undefined && { about: parameter.description }),
    })),
    fields: [
      ...fieldsOf('body', body?.properties ?? {}, body?.required ?? [], document),
      ...query.flatMap((parameter) =>
        fieldsOf(
          'query',
          { [parameter.name]: { ...parameter.schema, description: parameter.description ?? '' } },
          parameter.required ? [parameter.name] : [],
          document,
        ),
      ),
    ]
      .filter(({ path }) => !isList || !OF_EVERY_LIST.has(path))
      .map((field) => (isSwitch(field, method) ? { ...field, type: 'switch' as const } : field)),
  }
}

/** Whether leaving the field out does not mean `false`, so that both values need a way to be given. */
function isSwitch({ type, fallback }: CommandField, method: string): boolean {
  return type === 'boolean' && (fallback === true || method === 'PATCH')
}

/** A field that is an object of plain values becomes a field for each of them. */
function fieldsOf(
  place: 'body' | 'query',
  properties: Record<string, ShownSchema>,
  required: readonly string[],
  document: Pick<OpenApi, 'components'>,
): CommandField[] {
  return Object.entries(properties).flatMap(([name, given]) => {
    const schema = resolve(given, document)
    const inner = Object.entries(schema.properties ?? {}).map(([key, value]) => [key, plain(value, document)] as const)
    const isFlat = inner.length > 0 && !schema.additionalProperties && inner.every(([, { type }]) => type !== 'json')
    if (!isFlat) return [fieldOf(place, name, given, required.includes(name), document)]
    return inner.map(([key]) =>
      fieldOf(
        place,
        `${name}.${key}`,
        schema.properties?.[key] ?? {},
        schema.required?.includes(key) ?? false,
        document,
      ),
    )
  })
}

function fieldOf(
  place: 'body' | 'query',
  path: string,
  schema: ShownSchema,
  isRequired: boolean,
  document: Pick<OpenApi, 'components'>,
): CommandField {
  const { type, choices, isNullable } = plain(schema, document)
  const about = schema.description ?? resolve(schema, document).description
  const least = [schema, ...(schema.anyOf ?? [])].find(({ minimum }) => minimum !== undefined)?.minimum
  return {
    in: place,
    path,
    type,
    ...(isRequired && { required: true }),
    ...(isNullable && { nullable: true }),
    ...(choices && { choices }),
    ...(about && { about }),
    ...(type === 'integer' && least !== undefined && least > 0 && { least }),
    ...(['string', 'number', 'boolean'].includes(typeof schema.default) && {
      fallback: schema.default as string | number | boolean,
    }),
  }
}

type Plain = { type: CommandField['type']; choices?: string[]; isNullable?: boolean }

function plain(given: ShownSchema, document: Pick<OpenApi, 'components'>): Plain {
  const schema = resolve(given, document)
  const options = (schema.anyOf ?? schema.oneOf)?.filter(({ type }) => type !== 'null')
  if (options)
    return { ...(options.length === 1 ? plain(options[0] ?? {}, document) : { type: 'json' }), ...nullable(schema) }
  const types = [schema.type].flat().filter((type) => type !== 'null')
  const more = nullable(schema)
  if (schema.type === 'array') {
    const items = plain(schema.items ?? {}, document)
    const isList = items.type === 'text' || items.type === 'integer'
    return { type: isList ? 'list' : 'json', ...(items.choices && { choices: items.choices }), ...more }
  }
  if (types.length !== 1) return { type: 'json', ...more }
  if (schema.format === 'date-time') return { type: 'time', ...more }
  const choices = schema.enum?.filter((value) => typeof value === 'string')
  if (choices?.join() === 'true') return { type: 'boolean' }
  if (types[0] === 'string') return { type: 'text', ...(choices?.length && { choices }), ...more }
  return { type: PLAIN[types[0] ?? ''] ?? 'json', ...more }
}

const PLAIN: Record<string, CommandField['type']> = { integer: 'integer', number: 'number', boolean: 'boolean' }

function nullable({ type, anyOf = [] }: ShownSchema): { isNullable?: true } {
  const isNullable = (Array.isArray(type) && type.includes('null')) || anyOf.some((option) => option.type === 'null')
  return isNullable ? { isNullable } : {}
}

export function resolve(schema: ShownSchema, { components }: Pick<OpenApi, 'components'>): ShownSchema {
  if (!schema.$ref) return schema
  const named = components.schemas[schema.$ref.slice('#/components/schemas/'.length)] ?? {}
  return schema.description === undefined ? named : { ...named, description: schema.description }
}

/** As a literal of JavaScript, whose keys need no quotes. */
function textOf(value: unknown): string {
  return JSON.stringify(value).replaceAll(/"(\w+)":/g, '$1:')
}
