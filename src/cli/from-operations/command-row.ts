/** What the command line knows of an operation. `npm run sdk:types` makes a table of them: the server is not loaded. */
export type CommandRow = {
  /** The method of the SDK: `client[group][name]`. */
  group: string
  name: string
  summary: string
  method: string
  kind: 'one' | 'list' | 'lines'
  creates?: boolean
  /** The reply shows a secret once. */
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
  /** The name, with the name of the object that it is in before it: `limits.concurrent_runs`. */
  path: string
  type: 'text' | 'integer' | 'number' | 'boolean' | 'switch' | 'time' | 'list' | 'json'
  required?: boolean
  nullable?: boolean
  choices?: readonly string[]
  about?: string
  /** The smallest number. */
  least?: number
  fallback?: string | number | boolean
}
