import { z } from 'zod'
import { STATUS_OF } from '../../errors.ts'

export type JsonSchema = Record<string, unknown>

/** Converts a shape into JSON Schema. A shape with an ID becomes a component. */
export function toSchema(shape: z.ZodType, io: 'input' | 'output', schemas: Record<string, JsonSchema>): JsonSchema {
  const {
    $defs = {},
    $schema: _,
    ...schema
  } = z.toJSONSchema(shape, { io, unrepresentable: 'any' }) as JsonSchema & {
    $defs?: Record<string, JsonSchema>
  }
  const toComponents = <T>(value: T): T =>
    JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'))
  for (const [name, definition] of Object.entries($defs)) {
    // zod numbers shapes without an ID within each shape, starting at 0. Two such shapes would get the same name.
    if (name.startsWith('__')) throw new Error('a shape that refers to itself needs an id')
    schemas[name] = toComponents(definition)
  }
  const id = schema.id
  if (typeof id !== 'string') return toComponents(schema)
  const { id: _id, ...rest } = schema
  schemas[id] = toComponents(rest)
  return { $ref: `#/components/schemas/${id}` }
}

export function successSchema(data: JsonSchema): JsonSchema {
  return {
    type: 'object',
    required: ['success', 'data'],
    additionalProperties: false,
    properties: { success: { const: true }, data },
  }
}

export function errorSchema(): JsonSchema {
  return {
    type: 'object',
    required: ['success', 'error', 'request_id'],
    additionalProperties: false,
    properties: {
      success: { const: false },
      error: {
        type: 'object',
        required: ['code', 'message'],
        additionalProperties: false,
        properties: {
          code: { enum: Object.keys(STATUS_OF) },
          message: { type: 'string' },
          retry_after: { type: 'integer', description: 'Seconds' },
          details: {
            type: 'array',
            items: {
              type: 'object',
              required: ['field', 'error'],
              additionalProperties: false,
              properties: { field: { type: 'string' }, error: { type: 'string' } },
            },
          },
        },
      },
      request_id: { type: 'string' },
    },
  }
}

export function paginationSchema(): JsonSchema {
  return {
    type: 'object',
    required: ['limit', 'offset', 'total', 'has_more'],
    additionalProperties: false,
    properties: {
      limit: { type: 'integer' },
      offset: { type: 'integer' },
      total: { type: 'integer' },
      has_more: { type: 'boolean' },
      searched_to: {
        type: 'string',
        format: 'date-time',
        description:
          'Returned when a search stopped before it had looked at everything; `total` counts the matches so far. To continue, send this time as `end_time`, or as `start_time` if the oldest come first',
      },
      next_after: {
        type: 'string',
        description: 'With `after`: send it as the next `after`. `total` counts the entries up to here',
      },
    },
  }
}
