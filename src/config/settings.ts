import type { z } from 'zod'

export type SettingsSchema = z.core.JSONSchema.BaseSchema
export type Path = readonly (string | number)[]

/** One setting as the operator sees it. Settings inside lists and records have no variable. */
export type Setting = {
  path: readonly string[]
  variable: string | undefined
  kind: 'text' | 'integer' | 'boolean' | 'list' | 'json'
  default: unknown
  description: string
}

/** All settings of a configuration schema, in order. */
export function listSettings(schema: SettingsSchema, path: readonly string[] = [], inside = false): Setting[] {
  const found = alternatives(schema).flatMap((option) =>
    Object.entries(option.properties ?? {}).flatMap(([key, value]) => {
      const child = value as SettingsSchema
      const here = [...path, key]
      return hasFixedKeys(child) ? listSettings(child, here, inside) : withInner(child, here, inside)
    }),
  )
  // Alternatives share keys such as `type`. The first alternative describes them.
  return found.filter((setting, index) => index === found.findIndex((other) => isSamePath(other.path, setting.path)))
}

/** The possible keys at a path. */
export function keysAt(schema: SettingsSchema, path: Path): string[] {
  return schemasAt(schema, path).flatMap((found) => Object.keys(found.properties ?? {}))
}

export function isSecretAt(schema: SettingsSchema, path: Path): boolean {
  return schemasAt(schema, path).some((found) => found.writeOnly === true)
}

/** The value at a path if it isn't set. */
export function defaultAt(schema: SettingsSchema, path: Path): unknown {
  return schemasAt(schema, path).find((found) => found.default !== undefined)?.default
}

export function isSamePath(one: Path, other: Path): boolean {
  return one.length === other.length && startsWith(one, other)
}

/** Whether `path` is `start` or lies below it. */
export function startsWith(path: Path, start: Path): boolean {
  return start.every((key, index) => path[index] === key)
}

/** `providers[0].baseUrl` */
export function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return text === '' || key === '[]' ? text + String(key) : `${text}.${String(key)}`
  }, '')
}

/** `webhooks.allowedCidrs` is MOORAGE_WEBHOOKS__ALLOWED_CIDRS. */
function variableOf(path: readonly string[]): string {
  return `MOORAGE_${path.map((key) => key.replaceAll(/[A-Z]/g, '_$&').toUpperCase()).join('__')}`
}

function withInner(schema: SettingsSchema, path: readonly string[], inside: boolean): Setting[] {
  const items = schema.items as SettingsSchema | undefined
  const values = schema.additionalProperties as SettingsSchema | undefined
  const setting: Setting = {
    path,
    variable: inside ? undefined : variableOf(path),
    kind: kindOf(schema),
    default: schema.default,
    description: schema.description ?? '',
  }
  if (items && hasFixedKeys(items)) return [setting, ...listSettings(items, [...path, '[]'], true)]
  if (values && hasFixedKeys(values)) return [setting, ...listSettings(values, [...path, 'NAME'], true)]
  return [setting]
}

function kindOf(schema: SettingsSchema): Setting['kind'] {
  if (schema.type === 'array') return hasFixedKeys(schema.items as SettingsSchema) ? 'json' : 'list'
  if (schema.type === 'object') return 'json'
  return schema.type === 'integer' || schema.type === 'boolean' ? schema.type : 'text'
}

function schemasAt(schema: SettingsSchema, path: Path): SettingsSchema[] {
  const [key, ...rest] = path
  const options = alternatives(schema)
  if (key === undefined) return options
  return options.flatMap((option) => {
    const named = Object.hasOwn(option.properties ?? {}, key) ? option.properties?.[key] : undefined
    const child = named ?? option.items ?? option.additionalProperties
    return typeof child === 'object' ? schemasAt(child as SettingsSchema, rest) : []
  })
}

const alternatives = (schema: SettingsSchema): SettingsSchema[] =>
  (schema.oneOf as SettingsSchema[] | undefined) ?? [schema]

const hasFixedKeys = (schema: SettingsSchema) => alternatives(schema).every((option) => option.properties !== undefined)
