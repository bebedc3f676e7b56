import { setImmediate as nextPass } from 'node:timers/promises'
import type { z } from 'zod'
import { type ErrorCode, STATUS_OF } from '../../errors.ts'
import { changes, type Operation, protectedNames } from '../../operation.ts'
import type { OpenApi } from './openapi-document.ts'
import { errorSchema, type JsonSchema, paginationSchema, successSchema, toSchema } from './openapi-schemas.ts'

/** Bytes without any encoding. */
const BYTES = { type: 'string', format: 'binary' }

/** JSON lines. The schema describes one line. */
const LINES = 'application/x-ndjson'

const DOCUMENT_VERSION = '1.0.0'

/** Errors with which the pipeline may answer any request. */
const COMMON_ERRORS: ErrorCode[] = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'https_required',
  'rate_limited',
  'server_error',
  'unavailable',
  'timeout',
]
const BODY_ERRORS: ErrorCode[] = ['payload_too_large', 'unsupported_media_type']
const IDEMPOTENCY_ERRORS: ErrorCode[] = ['idempotency_key_in_use', 'idempotency_key_reused']

/**
 * Makes the OpenAPI 3.1 document from the declarations. `url` is where clients reach the service. Making the whole
 * document would delay other requests for too long, so they are served in between.
 */
export async function openApiDocument(operations: readonly Operation[], url = '/'): Promise<OpenApi> {
  const schemas: Record<string, JsonSchema> = { Error: errorSchema(), Pagination: paginationSchema() }
  const paths: OpenApi['paths'] = {}
  for (const operation of operations) {
    paths[operation.path] ??= {}
    Object.assign(paths[operation.path] as object, { [operation.method.toLowerCase()]: describe(operation, schemas) })
    await nextPass()
  }
  const tags = [...new Set(operations.map(tagOf))].map((name) => ({ name }))
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Moorage',
      version: DOCUMENT_VERSION,
      summary: 'Named AI agents behind one REST API',
      description:
        'Every path except this one requires `Authorization: Bearer <key>`. With a key that has access to all projects, name the project in the `Moorage-Project` header, by ID or name.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url }],
    security: [{ key: [] }],
    tags,
    paths,
    components: {
      schemas,
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'An API key (`mrg_…`), or a token from the configured identity provider.',
        },
      },
    },
  }
  return document
}

function describe(operation: Operation, schemas: Record<string, JsonSchema>): JsonSchema {
  const { access, answer, input } = operation
  const success = answer.status ?? 200
  const responses: Record<string, unknown> = {
    [success]: {
      description: 'Success',
      headers: replyHeaders(operation),
      content: contentOf(answer, schemas),
    },
  }
  if (answer.content) {
    responses[206] = { description: 'The part requested with `Range`', content: contentOf(answer, schemas) }
    responses[304] = { description: "Not modified: the client's copy is current, by the `ETag` in `If-None-Match`" }
  }
  if (answer.csv !== undefined) {
    const { content } = responses[success] as { content: JsonSchema }
    content['text/csv'] = { schema: { type: 'string', description: `The items of \`${answer.csv}\`` } }
  }
  if (answer.streams) {
    const { content } = responses[success] as { content: JsonSchema }
    content['text/event-stream'] = {
      schema: { type: 'string', description: 'Server-sent events; the event `done` contains the reply' },
    }
  }
  if (answer.accepted) {
    const data = toSchema(answer.accepted, 'output', schemas)
    responses[202] = {
      description: 'Accepted: the run continues in the background',
      content: { 'application/json': { schema: successSchema(data) } },
    }
  }
  for (const [status, codes] of errorsOf(operation)) {
    responses[status] = {
      description: codes.map((code) => `\`${code}\``).join(', '),
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    }
  }
  return {
    operationId: operation.id,
    summary: operation.summary,
    ...(operation.description && { description: operation.description }),
    tags: [tagOf(operation)],
    ...(operation.deprecated && { deprecated: true, 'x-sunset': operation.deprecated.sunset }),
    ...(access.permission && { 'x-permission': access.permission }),
    ...(access.ownPermission && { 'x-own-permission': access.ownPermission }),
    ...(access.forPeople && { 'x-for-people': true }),
    ...(access.ofRuns && { 'x-for-remote-agents': true }),
    parameters: parametersOf(operation, schemas),
    ...(input?.body && {
      requestBody: {
        required: !input.bodyOptional,
        content: bodyContent(input.body, operation, schemas),
      },
    }),
    responses,
  }
}

function contentOf(answer: Operation['answer'], schemas: Record<string, JsonSchema>): JsonSchema {
  if (answer.content) return { 'application/octet-stream': { schema: BYTES } }
  return answer.lines
    ? { [LINES]: { schema: toSchema(answer.lines, 'output', schemas) } }
    : { 'application/json': { schema: envelope(answer, schemas) } }
}

function bodyContent(body: z.ZodType, { input }: Operation, schemas: Record<string, JsonSchema>): JsonSchema {
  if (!input?.upload) return { 'application/json': { schema: toSchema(body, 'input', schemas) } }
  const form = { type: 'object', required: ['file'], properties: { file: BYTES } }
  return { '*/*': { schema: BYTES }, 'multipart/form-data': { schema: form } }
}

function envelope(
  answer: Exclude<Operation['answer'], { lines: z.ZodType } | { content: true }>,
  schemas: Record<string, JsonSchema>,
): JsonSchema {
  if (answer.list) {
    return {
      type: 'object',
      required: ['data', 'pagination'],
      additionalProperties: false,
      properties: {
        data: { type: 'array', items: toSchema(answer.list, 'output', schemas) },
        pagination: { $ref: '#/components/schemas/Pagination' },
      },
    }
  }
  return successSchema(toSchema(answer.data, 'output', schemas))
}

function parametersOf(operation: Operation, schemas: Record<string, JsonSchema>): JsonSchema[] {
  const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => {
    const own = (operation.input?.params?.shape as Record<string, z.ZodType> | undefined)?.[name]?.description
    const description = name === 'agent_id' ? "The agent's ID or name" : own
    return { name, in: 'path', required: true, schema: { type: 'string' }, ...(description && { description }) }
  })
  const query = operation.input?.query ? toSchema(operation.input?.query, 'input', schemas) : {}
  const required = (query.required ?? []) as string[]
  const inQuery = Object.entries((query.properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, { description, ...schema }]) => ({
      name,
      in: 'query',
      required: required.includes(name),
      ...(description !== undefined && { description }),
      schema,
    }),
  )
  const idempotencyKey = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'Makes a retry safe: within 24 hours, the same request with the same key runs only once.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  }
  const code = {
    name: 'X-Service-OTP',
    in: 'header',
    required: operation.mfa?.policy === 'always',
    description: "The key's one-time code, if `security.mfa` requires one.",
    schema: { type: 'string', pattern: '^\\d{6}$' },
  }
  return [
    ...inPath,
    ...inQuery,
    ...(operation.idempotent ? [idempotencyKey] : []),
    ...(mayNeedCode(operation) ? [code] : []),
  ]
}

function mayNeedCode(operation: Operation): boolean {
  return protectedNames(operation).length > 0
}

function errorsOf(operation: Operation): Map<number, ErrorCode[]> {
  const codes: ErrorCode[] = [
    ...COMMON_ERRORS,
    ...(mayNeedCode(operation) ? (['mfa_required'] as const) : []),
    ...(operation.path.includes('{') ? (['not_found'] as const) : []),
    ...(changes(operation) ? BODY_ERRORS : []),
    ...(operation.answer.content ? (['range_not_satisfiable'] as const) : []),
    ...(operation.idempotent ? IDEMPOTENCY_ERRORS : []),
    ...(operation.answer.errors ?? []),
  ]
  const byStatus = Map.groupBy([...new Set(codes)], (code) => STATUS_OF[code])
  return new Map([...byStatus].toSorted(([a], [b]) => a - b))
}

function replyHeaders(operation: Operation): JsonSchema {
  const header = (description: string, type: string) => ({ description, schema: { type } })
  return {
    'X-Request-Id': header('The ID of this request', 'string'),
    'X-RateLimit-Limit': header('Requests per minute', 'integer'),
    'X-RateLimit-Remaining': header('Requests left', 'integer'),
    'X-RateLimit-Reset': header('When all requests are available again, in seconds since 1970', 'integer'),
    ...(operation.deprecated && {
      Deprecation: header('Since when the operation is deprecated, as `@` and seconds since 1970', 'string'),
      Sunset: header('When the operation is removed', 'string'),
    }),
    ...(operation.answer.status === 201 && { Location: header('The URL of the new resource', 'string') }),
    ...(operation.idempotent && { 'Idempotent-Replayed': header('`true` if this is a repeated reply', 'string') }),
  }
}

function tagOf({ path }: Operation): string {
  const words = path.split('/').filter((word) => word !== 'v1' && word !== '' && !word.startsWith('{'))
  const tag = words.find((word, i) => i > 0 || words.length === 1 || word !== 'agents') ?? 'agents'
  if (tag === 'resume') return 'pause'
  return tag === 'invoke' ? 'invocations' : tag
}
