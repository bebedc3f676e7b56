/**
 * A schema from zod, or from another library that provides its JSON Schema as described at https://standardschema.dev.
 */
export type OutputShape<Value = unknown> = {
  readonly '~standard': {
    readonly types?: { readonly output: Value } | undefined
    readonly jsonSchema: { output(options: { target: 'draft-2020-12' }): Record<string, unknown> }
  }
}

type JsonSchema = Readonly<Record<string, unknown>>

/** What an answer must match: a zod schema or a JSON Schema. */
export type OutputSpec = OutputShape | { readonly schema: JsonSchema; readonly retries?: number }

/** The type of the value, as far as it can be derived from the schema. */
export type ValueOf<W> =
  W extends OutputShape<infer Value> ? Value : W extends { readonly schema: infer Schema } ? FromSchema<Schema> : never

type FromSchema<Schema> = Schema extends { readonly const: infer Value }
  ? Value
  : Schema extends { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { readonly anyOf: readonly (infer One)[] }
      ? FromSchema<One>
      : Schema extends { readonly type: infer Type }
        ? FromType<Type, Schema>
        : unknown

type Simple = { string: string; number: number; integer: number; boolean: boolean; null: null }

type FromType<Type, Schema> = Type extends keyof Simple
  ? Simple[Type]
  : Type extends readonly (infer One)[]
    ? FromType<One, Schema>
    : Type extends 'array'
      ? (Schema extends { readonly items: infer Items } ? FromSchema<Items> : unknown)[]
      : Type extends 'object'
        ? FromObject<Schema>
        : unknown

type FromObject<Schema> = Schema extends { readonly properties: infer Properties }
  ? Flat<
      {
        -readonly [Name in keyof Properties as Name extends RequiredNames<Schema> ? Name : never]: FromSchema<
          Properties[Name]
        >
      } & {
        -readonly [Name in keyof Properties as Name extends RequiredNames<Schema> ? never : Name]?: FromSchema<
          Properties[Name]
        >
      }
    >
  : Record<string, unknown>

type RequiredNames<Schema> = Schema extends { readonly required: readonly (infer Name)[] } ? Name : never

type Flat<T> = { [K in keyof T]: T[K] }

/** Converts the wanted output to the API's form. */
export function outputOf(wanted: OutputSpec): { schema: Record<string, unknown>; retries?: number } {
  if (!('~standard' in wanted)) return { ...wanted, schema: { ...wanted.schema } }
  // The draft is left out, because the service assumes this one anyway.
  const { $schema: _draft, ...schema } = wanted['~standard'].jsonSchema.output({ target: 'draft-2020-12' })
  return { schema }
}
