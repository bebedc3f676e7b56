import {
  type OpenApi,
  operationsOf,
  type PlacedOperation,
  type ShownSchema,
} from '../src/http/reference/openapi-document.ts'
import { sample } from '../src/http/reference/samples.ts'
import { OF_EVERY_LIST, resolve } from './render-cli-table.ts'

const START = '<!-- operations -->'
const SAMPLE = /```sh\n[\s\S]*?```\n/
const WIDTH = 150

/**
 * Writes the operations in docs/api.md anew: each with its permission, description and fields from the OpenAPI document.
 * What is written by hand stays: the text before the operations, the sections with their first lines, and the samples. A
 * new operation comes after the others with its tag, with a sample that is made from its shapes.
 */
export function renderApiDocs(page: string, document: OpenApi): string {
  const [head = '', body = ''] = page.split(`${START}\n`)
  const blocks = body.split(/^(?=##+ )/m)
  const operations = new Map(operationsOf(document).map((operation) => [routeOf(operation), operation]))
  const shown: { tag: string | undefined; text: string }[] = []
  for (const block of blocks) {
    const route = /^`([A-Z]+ \S+)` · /m.exec(block)?.[1]
    const operation = route === undefined ? undefined : operations.get(route)
    if (route === undefined) shown.push({ tag: undefined, text: block })
    if (operation) shown.push({ tag: operation.tags[0], text: article(operation, SAMPLE.exec(block)?.[0], document) })
    if (route !== undefined) operations.delete(route)
  }
  for (const operation of operations.values()) {
    const [tag = ''] = operation.tags
    const last = shown.findLastIndex((block) => block.tag === tag)
    const text = article(operation, undefined, document)
    if (last < 0) shown.push({ tag: undefined, text: `## ${titleOf(tag)}\n\n` }, { tag, text })
    else shown.splice(last + 1, 0, { tag, text })
  }
  const text = shown.map((block) => block.text).join('')
  return `${head}${START}\n${text.trimEnd()}\n`
}

function routeOf({ method, path }: PlacedOperation): string {
  return `${method} ${path}`
}

function titleOf(tag: string): string {
  return tag.charAt(0).toUpperCase() + tag.slice(1).replaceAll('-', ' ')
}

function article(operation: PlacedOperation, ownSample: string | undefined, document: OpenApi): string {
  const { summary, description } = operation
  const parts = [
    `### ${summary}\n`,
    `\`${routeOf(operation)}\` · ${whoMay(operation)}\n`,
    operation.deprecated ? `**Deprecated.** It's removed on ${operation['x-sunset']}.\n` : '',
    description === undefined ? '' : `${wrap(description)}\n`,
    fieldLines(operation, document),
    ownSample ?? sampleOf(operation, document),
  ]
  return `${parts.filter((part) => part !== '').join('\n')}\n`
}

/** Breaks lines between words. Code stays in one line. */
function wrap(text: string): string {
  const rows = ['']
  for (const word of text.match(/(`[^`]*`|\S)+/g) ?? []) {
    const row = rows.at(-1) ?? ''
    if (row !== '' && row.length + word.length >= WIDTH) rows.push(word)
    else rows[rows.length - 1] = row === '' ? word : `${row} ${word}`
  }
  return rows.join('\n')
}

function whoMay(operation: PlacedOperation): string {
  const { 'x-permission': permission, 'x-own-permission': own } = operation
  if (operation['x-for-remote-agents']) return "a run's token"
  if (operation['x-for-people']) return 'any signed-in person'
  if (permission === undefined) return 'any valid key'
  return `permission \`${permission}\`${own ? `, or \`${own}\` for what the key itself started` : ''}`
}

type Field = { name: string; schema: ShownSchema; isRequired: boolean; about: string | undefined }

/** A line for each field of the query and the body. */
function fieldLines({ parameters, requestBody, responses }: PlacedOperation, document: OpenApi): string {
  const reply = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1]
  const isList = reply?.content?.['application/json']?.schema.properties?.pagination !== undefined
  const inQuery = parameters
    .filter((parameter) => parameter.in === 'query' && !(isList && OF_EVERY_LIST.has(parameter.name)))
    .map(({ name, schema, required, description }) => ({ name, schema, isRequired: required, about: description }))
  const body = resolve(requestBody?.content['application/json']?.schema ?? {}, document)
  const inBody = Object.entries(body.properties ?? {}).map(([name, schema]) => {
    const about = schema.description ?? resolve(schema, document).description
    return { name, schema, isRequired: body.required?.includes(name) ?? false, about }
  })
  return [lines('Query parameters', inQuery, document), lines('Body fields', inBody, document)]
    .filter(Boolean)
    .join('\n')
}

function lines(title: string, fields: Field[], document: OpenApi): string {
  if (fields.length === 0) return ''
  const rows = fields.map(({ name, schema, isRequired, about }) => {
    const choices = choicesOf(schema, document)
    const usual = ['string', 'number', 'boolean'].includes(typeof schema.default) && schema.default !== ''
    const notes = [
      isRequired && 'required',
      choices.length > 0 && choices.map((choice) => `\`${choice}\``).join(', '),
      usual && `default \`${schema.default}\``,
    ].filter(Boolean)
    const line = `- \`${name}\`${notes.length > 0 ? ` (${notes.join('; ')})` : ''}${about ? `: ${about}` : ''}`
    return wrap(line).replaceAll('\n', '\n  ')
  })
  return `${title}:\n\n${rows.join('\n')}\n`
}

function choicesOf(given: ShownSchema, document: OpenApi): unknown[] {
  const schema = resolve(given, document)
  const inner =
    schema.anyOf?.find(({ type }) => type !== 'null') ?? (schema.type === 'array' ? schema.items : undefined)
  return (schema.enum ?? (inner ? resolve(inner, document).enum : undefined))?.filter((value) => value !== null) ?? []
}

/** A command that works if the ids of earlier replies are in variables. */
function sampleOf({ method, path, parameters, requestBody }: PlacedOperation, document: OpenApi): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'agent_id') return 'hello'
    return name.endsWith('_id') ? `$${name.toUpperCase()}` : 'example'
  })
  const query = parameters
    .filter((parameter) => parameter.in === 'query' && parameter.required)
    .map(({ name, schema }) => `${name}=${encodeURIComponent(String(sample(schema, document, 'input')))}`)
  const url = `"$URL${filled}${query.length > 0 ? `?${query.join('&')}` : ''}"`
  const schema = requestBody?.content['application/json']?.schema
  const verb = method === 'GET' || (method === 'POST' && schema) ? '' : `-X ${method} `
  const text = schema && JSON.stringify(sample(schema, document, 'input')).replaceAll("'", "'\\''")
  const body = text === undefined ? '' : ` \\\n  -H 'Content-Type: application/json' -d '${text}'`
  return `\`\`\`sh\ncurl ${verb}${url} -H "Authorization: Bearer $KEY"${body}\n\`\`\`\n`
}
