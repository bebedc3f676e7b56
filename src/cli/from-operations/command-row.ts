/**
 * What the command line knows about an operation. `npm run sdk:types` makes a table of these rows, so the server
 * needn't be loaded.
 */
export type CommandRow = {
  /** The method of the SDK: `client[group][name]`. */
  group: string
  name: string
  summary: string
  method: string
  kind: 'one' | 'list' | 'lines'
  creates?: boolean
  /** The reply contains a secret, which is shown only once. */
  hasSecret?: boolean
  hasBody?: boolean
  hasQuery?: boolean
  /** The fields by which a list can be sorted. */
  sorts?: readonly string[]
  params: readonly { name: string; about?: string }[]
  fields: readonly CommandField[]
}

export type CommandField = {
  in: 'body' | 'query'
  /** The field's name, after the name of the object that contains it: `limits.concurrent_runs`. */
  path: string
  type: 'text' | 'integer' | 'number' | 'boolean' | 'switch' | 'time' | 'list' | 'json'
  required?: boolean
  nullable?: boolean
  choices?: readonly string[]
  about?: string
  /** The smallest allowed number. */
  least?: number
  fallback?: string | number | boolean
}
