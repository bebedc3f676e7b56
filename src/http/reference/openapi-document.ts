/** The part of OpenAPI 3.1 that we use. The reference page, the SDK's types and tests read it. */
export type OpenApi = {
  openapi: string
  info: { title: string; version: string; summary: string; description: string }
  tags: { name: string }[]
  paths: Record<string, Record<string, OperationObject>>
  components: { schemas: Record<string, ShownSchema> }
}

export type OperationObject = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  deprecated?: true
  /** The day on which a deprecated operation is removed. */
  'x-sunset'?: string
  'x-permission'?: string
  /** The permission that is enough for what the key itself has started. */
  'x-own-permission'?: string
  'x-for-people'?: true
  'x-for-remote-agents'?: true
  parameters: Parameter[]
  /** Either JSON, or bytes of any type. */
  requestBody?: { required: boolean; content: Partial<Record<'application/json' | '*/*', { schema: ShownSchema }>> }
  responses: Record<string, { description: string; content?: Record<string, { schema: ShownSchema }> }>
}

export type Parameter = { name: string; in: string; required: boolean; description?: string; schema: ShownSchema }

export type ShownSchema = {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  default?: unknown
  examples?: unknown[]
  anyOf?: ShownSchema[]
  oneOf?: ShownSchema[]
  allOf?: ShownSchema[]
  items?: ShownSchema
  properties?: Record<string, ShownSchema>
  required?: string[]
  additionalProperties?: ShownSchema | boolean
  description?: string
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
}

/** An operation with its method and path. */
export type PlacedOperation = OperationObject & { method: string; path: string }

export function operationsOf({ paths }: Pick<OpenApi, 'paths'>): PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  )
}
