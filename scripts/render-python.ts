import { DELETES, type OperationId } from '../sdk/call.ts'
import { STATUS_OF } from '../src/errors.ts'
import {
  type OpenApi,
  operationsOf,
  type PlacedOperation,
  type ShownSchema,
} from '../src/http/reference/openapi-document.ts'
import { resolve } from './render-cli-table.ts'
import { placeOf } from './render-sdk-methods.ts'

const MADE = '# Made from the OpenAPI document by `npm run sdk:types`; not to be edited.'
const KEYWORDS = new Set([
  'as',
  'from',
  'import',
  'is',
  'class',
  'def',
  'global',
  'in',
  'not',
  'or',
  'and',
  'pass',
  'with',
])

/** Written by hand in python/moorage: they stream, send or answer with bytes, or are called by remote agents only. */
const BY_HAND = new Set(['invokeAgent', 'streamInvocation', 'createFile', 'getFileContent', 'getRunFile', 'takeSteps'])

/** Makes python/moorage/types.py: every schema that has a name as a TypedDict. */
export function renderPythonTypes({ components }: Pick<OpenApi, 'components'>): string {
  const schemas = Object.entries(components.schemas).filter(([name]) => !isJson(name))
  return [
    MADE,
    '"""The shapes of requests and replies, for type checkers. At run time they are plain dictionaries."""',
    '',
    'from __future__ import annotations',
    '',
    'from typing import Any, Dict, List, Literal, TypedDict, Union',
    '',
    'Json = Any',
    ...schemas.flatMap(([name, schema]) => ['', ...declare(typeName(name), schema)]),
    ...invokeFields(components.schemas['Invoke'] ?? {}),
    '',
    `STATUS_OF: Dict[str, int] = ${JSON.stringify(STATUS_OF, null, 4)}`,
    '',
  ].join('\n')
}

/** Makes python/moorage/_methods.py: one method for each operation, in the groups of the TypeScript SDK. */
export function renderPythonMethods(document: Pick<OpenApi, 'paths' | 'components'>): string {
  const operations = operationsOf(document).filter(({ operationId }) => !BY_HAND.has(operationId))
  const groups = Map.groupBy(operations, (operation) => placeOf(operation).group)
  return [
    MADE,
    'from __future__ import annotations',
    '',
    'from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Union',
    '',
    'from ._request import UNSET, Caller, fill, given',
    'from ._pages import Pages',
    '',
    'if TYPE_CHECKING:',
    '    from typing_extensions import Unpack',
    '',
    '    from . import types as t',
    '    from ._request import RequestOptions',
    '',
    '',
    'class Group:',
    '    def __init__(self, caller: Caller) -> None:',
    '        self._caller = caller',
    '',
    ...[...groups].flatMap(([group, members]) => [
      '',
      `class ${capital(group)}(Group):`,
      ...members.flatMap((operation) => method(operation, document)),
    ]),
  ].join('\n')
}

const isJson = (name: string) => name.startsWith('__schema')
const typeName = (name: string) => (name === 'Error' ? 'ErrorReply' : name)
const capital = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)
const safe = (name: string) => (KEYWORDS.has(name) ? `${name}_` : name)
const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

function declare(name: string, schema: ShownSchema): string[] {
  const { properties = {}, required = [], description } = schema
  const fields = Object.entries(properties)
  if (schema.type !== 'object' || fields.length === 0) return ['', `${name} = ${typeOf(schema)}`]
  const lines = (names: [string, ShownSchema][]) => names.map(([field, one]) => `    ${field}: ${typeOf(one)}`)
  const about = description ? [`    ${docstring(description)}`, ''] : []
  // A name that is a word of the language has no place in a class.
  if (fields.some(([field]) => !/^[a-z_]\w*$/i.test(field) || KEYWORDS.has(field))) {
    const pairs = fields.map(([field, one]) => `${JSON.stringify(field)}: ${quoted(typeOf(one))}`)
    return ['', `${name} = TypedDict(${JSON.stringify(name)}, {${pairs.join(', ')}}, total=False)`]
  }
  const certain = fields.filter(([field]) => required.includes(field))
  const others = fields.filter(([field]) => !required.includes(field))
  if (others.length === 0) return ['', `class ${name}(TypedDict):`, ...about, ...lines(certain)]
  if (certain.length === 0) return ['', `class ${name}(TypedDict, total=False):`, ...about, ...lines(others)]
  return [
    '',
    `class _${name}(TypedDict):`,
    ...lines(certain),
    '',
    '',
    `class ${name}(_${name}, total=False):`,
    ...about,
    ...lines(others),
  ]
}

/** What `invoke`, `stream` and `start` take besides a message. Attachments may be bytes there as well. */
function invokeFields({ properties = {} }: ShownSchema): string[] {
  const fields = Object.entries(properties).filter(([name]) => name !== 'message' && name !== 'attachments')
  const lines = fields.map(([field, one]) => `    ${field}: ${typeOf(one)}`)
  return ['', '', 'class InvokeFields(TypedDict, total=False):', ...lines, '']
}

const quoted = (type: string) => `'${type.replaceAll("'", '"')}'`

/** `module` is put in front of the names of shapes that come from another module. */
function typeOf(schema: ShownSchema, module = ''): string {
  if (schema.$ref) {
    const name = schema.$ref.slice('#/components/schemas/'.length)
    return isJson(name) ? 'Any' : module + typeName(name)
  }
  if ('const' in schema) return schema.const === null ? 'None' : `Literal[${literal(schema.const)}]`
  if (schema.enum) return enumOf(schema.enum)
  const options = schema.anyOf ?? schema.oneOf
  if (options) return union(options.map((option) => typeOf(option, module)))
  if (schema.allOf) return 'Dict[str, Any]'
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, module)))
  if (schema.type === 'array') return `List[${typeOf(schema.items ?? {}, module)}]`
  if (schema.type === 'object') {
    const { additionalProperties: others, properties = {} } = schema
    const isMap = typeof others === 'object' && Object.keys(properties).length === 0
    return `Dict[str, ${isMap ? typeOf(others, module) : 'Any'}]`
  }
  return PLAIN[schema.type ?? ''] ?? 'Any'
}

const PLAIN: Record<string, string> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
}

function enumOf(values: unknown[]): string {
  const named = values.filter((value) => value !== null)
  return union([`Literal[${named.map(literal).join(', ')}]`, ...(named.length < values.length ? ['None'] : [])])
}

function literal(value: unknown): string {
  return typeof value === 'boolean' ? capital(String(value)) : JSON.stringify(value)
}

function union(types: string[]): string {
  const several = [...new Set(types)]
  return several.length === 1 ? (several[0] ?? '') : `Union[${several.join(', ')}]`
}

function docstring(text: string): string {
  return `"""${text.replaceAll('\\', '\\\\').replaceAll('"""', "'''").replace(/"$/, '" ')}"""`
}

type Argument = { name: string; text: string; isRequired: boolean }

function method(operation: PlacedOperation, document: Pick<OpenApi, 'paths' | 'components'>): string[] {
  const { summary, description, parameters, requestBody, responses, path } = operation
  const { name, isList } = placeOf(operation)
  const content = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content ?? {}
  const reply = content['application/json']?.schema.properties ?? {}
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const inQuery = parameters.filter((parameter) => parameter.in === 'query')
  const schema = requestBody?.content['application/json']?.schema
  const body = schema && resolve(schema, document)
  const fields = Object.entries(body?.properties ?? {})
  const positional = inPath.map((parameter) => ({ ...parameter, own: safe(parameter.name) }))
  const taken = new Set([...OPTIONS, ...positional.map(({ own }) => own)])
  const ownName = (given: string) => (taken.has(given) ? `${given}_` : safe(given))
  const named: Argument[] = [
    ...fields.map(([field, one]) => argument(ownName(field), one, body?.required?.includes(field) ?? false)),
    ...inQuery.map((parameter) => argument(ownName(parameter.name), parameter.schema, parameter.required)),
  ]
  const pairs = (names: string[]) => `{${names.map((one) => `${JSON.stringify(one)}: ${ownName(one)}`).join(', ')}}`
  const lines = content['application/x-ndjson']?.schema
  const item = isList ? typeOf(reply.data?.items ?? {}, 't.') : ''
  const deleted = DELETES[operation.operationId as OperationId]
  const gives = lines ? `Iterator[${typeOf(lines, 't.')}]` : isList ? `Pages[${item}]` : typeOf(reply.data ?? {}, 't.')
  const takes = [
    'self',
    ...positional.map(({ own }) => `${own}: str`),
    ...(named.length > 0 ? ['*'] : []),
    ...named.toSorted((a, b) => Number(b.isRequired) - Number(a.isRequired)).map(({ text }) => text),
    '**options: Unpack[RequestOptions]',
  ]
  const filled = [JSON.stringify(path), ...positional.map(({ name: known, own }) => `${known}=${own}`)].join(', ')
  const sends = [
    JSON.stringify(operation.method),
    `fill(${filled})`,
    ...(inQuery.length > 0 ? [`query=given(${pairs(inQuery.map((parameter) => parameter.name))})`] : []),
    ...(schema ? [`body=given(${pairs(fields.map(([field]) => field))})`] : []),
    ...(deleted ? [`deleted={"${deleted}": ${positional.at(-1)?.own}, "deleted": True}`] : []),
    ...(WAITED_FOR[operation.operationId] ?? []),
    'options=options',
  ]
  const text = description ? `${summary}. ${description}` : summary
  return [
    `    def ${safe(snake(name))}(`,
    ...takes.map((one) => `        ${one},`),
    `    ) -> ${gives}:`,
    `        ${docstring(text)}`,
    `        return self._caller.${lines ? 'lines' : isList ? 'list' : 'call'}(`,
    ...sends.map((one) => `            ${one},`),
    '        )',
    '',
  ]
}

/** They take as long as a run. */
const WAITED_FOR: Record<string, string[]> = {
  checkRemote: ['default_timeout=610.0', 'default_retries=0'],
  eraseUser: ['default_timeout=610.0'],
}

/** What every method takes besides: python/moorage/_request.py. */
const OPTIONS = new Set(['idempotency_key', 'otp', 'timeout', 'retries', 'options'])

function argument(name: string, schema: ShownSchema, isRequired: boolean): Argument {
  return { name, isRequired, text: `${name}: ${typeOf(schema, 't.')}${isRequired ? '' : ' = UNSET'}` }
}
