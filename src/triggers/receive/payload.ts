import { isObject } from '../../lib/json.ts'
import { keysOf } from '../../runtime/schemas/schema-errors.ts'

/** A request to a trigger, after it was verified. */
export type Payload = {
  /** Names are in lowercase. */
  headers: Readonly<Record<string, string>>
  body: unknown
  /** In a conversation: what the person wrote. */
  text?: string
}

/** Headers whose values are secrets or prove who sent the request. They are neither stored nor used. */
const SECRET_HEADER = /auth|cookie|secret|signature|token|key|credential|password/

const MAX_HEADERS = 50
const MAX_HEADER_LENGTH = 1_000
/** A value of this length would already be too long for a message. */
export const MAX_FILLED = 100_000
const MAX_PLACEHOLDERS = 100

const HEADER = /^header\.([A-Za-z0-9-]{1,100})$/
/** RFC 6901. */
const POINTER = /^(?:\/(?:[^~/]|~[01])*)+$/
const PLACEHOLDER = /\{\{([^{}]*)\}\}/g

/** The headers of a request that can be stored and used. */
export function plainHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const plain = Object.entries(headers).flatMap(([name, value]) => {
    const isPlain = typeof value === 'string' && value.length <= MAX_HEADER_LENGTH && !SECRET_HEADER.test(name)
    return isPlain ? [[name, value.toWellFormed()] as const] : []
  })
  return Object.fromEntries(plain.slice(0, MAX_HEADERS))
}

/** The text is longer than a message can be. */
export class FilledTooLong extends Error {}

/** Says what is wrong with a place in the payload: a JSON pointer, `header.Name` or `body`. */
function placeProblem(place: string): string | undefined {
  if (place === 'body' || POINTER.test(place)) return undefined
  const name = HEADER.exec(place)?.[1]?.toLowerCase()
  if (name === undefined) return `must be a JSON pointer such as /issue/title, header.Name or body, not "${place}"`
  return SECRET_HEADER.test(name) ? `can't use the header ${name}, because it can contain a secret` : undefined
}

/** Says what is wrong with a template, or undefined. */
function templateProblem(template: string): string | undefined {
  const places = Array.from(template.matchAll(PLACEHOLDER), ([, place = '']) => place.trim())
  if (places.length > MAX_PLACEHOLDERS) return `can contain at most ${MAX_PLACEHOLDERS} placeholders`
  return places.map(placeProblem).find((problem) => problem !== undefined)
}

const WRITTEN = /\{\{\s*text\s*\}\}/g

/** Whether a message's template uses what a person wrote in a conversation. */
export function usesText(template: string): boolean {
  return template.search(WRITTEN) >= 0
}

/** Says what is wrong with a message's template, which can use what a person wrote, or undefined. */
export function messageProblem(template: string): string | undefined {
  return templateProblem(template.replace(WRITTEN, ''))
}

/** Says what is wrong with a source: a JSON pointer, or a template with at least one placeholder. */
export function sourceProblem(source: string): string | undefined {
  if (source.startsWith('/')) return placeProblem(source)
  if (source.search(PLACEHOLDER) < 0) return 'must be a JSON pointer such as /sender/login, or contain {{placeholders}}'
  return templateProblem(source)
}

/** The value at a place. Undefined if the payload has none there. */
function valueAt(place: string, { body, headers, text }: Payload): unknown {
  if (place === 'body') return body
  if (place === 'text') return text
  const header = HEADER.exec(place)?.[1]?.toLowerCase()
  if (header !== undefined) return Object.hasOwn(headers, header) ? headers[header] : undefined
  let value: unknown = body
  for (const name of keysOf(place)) {
    const isIndex = Array.isArray(value) && /^(?:0|[1-9]\d{0,6})$/.test(name)
    if (!isIndex && !(isObject(value) && Object.hasOwn(value, name))) return undefined
    value = (value as Record<string, unknown>)[name]
  }
  return value
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

/** Replaces the placeholders of a template. What the payload doesn't have becomes empty. */
export function fillTemplate(template: string, payload: Payload): string {
  let length = template.length
  return template.replace(PLACEHOLDER, (_whole, place: string) => {
    const text = textOf(valueAt(place.trim(), payload))
    length += text.length
    if (length > MAX_FILLED + template.length) throw new FilledTooLong()
    return text
  })
}

/** What a source names. Undefined if the payload doesn't have it, or has nothing there. */
export function readSource(source: string, payload: Payload): string | undefined {
  if (source.startsWith('/')) return textOf(valueAt(source, payload)) || undefined
  const places = Array.from(source.matchAll(PLACEHOLDER), ([, place = '']) => place.trim())
  const isMissing = places.some((place) => textOf(valueAt(place, payload)) === '')
  return isMissing ? undefined : fillTemplate(source, payload)
}

type Scalar = string | number | boolean | null

/** A condition on a payload. All conditions of a filter must hold. */
export type Condition = {
  path: string
  equals?: Scalar | undefined
  in?: readonly Scalar[] | undefined
  exists?: boolean | undefined
}

export function passes(filter: readonly Condition[], payload: Payload): boolean {
  return filter.every(({ path, equals, in: some, exists }) => {
    const value = valueAt(placeOf(path), payload)
    if (exists !== undefined) return (value !== undefined) === exists
    return some === undefined ? value === equals : some.some((one) => one === value)
  })
}

/** The place that a condition names: `/action`, or `{{header.X-GitHub-Event}}`. */
function placeOf(path: string): string {
  return /^\{\{([^{}]*)\}\}$/.exec(path)?.[1]?.trim() ?? path
}

export function pathProblem(path: string): string | undefined {
  return placeProblem(placeOf(path))
}
