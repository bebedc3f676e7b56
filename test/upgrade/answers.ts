import { hash } from 'node:crypto'
import { requestSoon } from '../support/running/patience.ts'
import type { Service } from '../support/service/service.ts'

/** A request that changes nothing, and what it was answered. */
export type Answer = {
  method: string
  path: string
  headers: Record<string, string>
  body?: object
  status: number
  /** JSON, or the lines of it; of everything else the digest. */
  said: unknown
}

export type Question = Omit<Answer, 'status' | 'said'>

/** The header that says who asks. */
export function asKey(key: string): Record<string, string> {
  return { Authorization: `Bearer ${key}` }
}

/** A browser that shows the console. */
export function asBrowser(cookie: string): Record<string, string> {
  return { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin', 'X-Moorage-Console': '1' }
}

export async function askService({ url }: Pick<Service, 'url'>, question: Question): Promise<Answer> {
  const { method, path, headers, body } = question
  const reply = await requestSoon(url + path, {
    method,
    headers: {
      ...headers,
      ...(headers['Cookie'] && { Cookie: headers['Cookie'].replace('{port}', new URL(url).port) }),
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  })
  return { ...question, status: reply.status, said: read(reply.headers.get('content-type') ?? '', reply.text) }
}

function read(type: string, text: string): unknown {
  if (type.startsWith('application/json')) return JSON.parse(text)
  if (type.startsWith('application/x-ndjson')) {
    return text.split('\n').flatMap((line): unknown[] => (line === '' ? [] : [JSON.parse(line)]))
  }
  return { type, sha256: hash('sha256', text) }
}

/** What a later version may say in other words: how much the store has besides what clients have put there. */
const NOT_COMPARED = /\.stored_bytes$/

/** The operations that a client may call grow with the API. */
const MAY_GROW = /\.features$/

/**
 * Where the second answer takes back or changes something that the first one has. A later version may add fields to
 * objects, and nothing else.
 */
export function changesIn(before: unknown, after: unknown, at = ''): string[] {
  if (NOT_COMPARED.test(at)) return []
  if (Array.isArray(before) && Array.isArray(after)) {
    if (MAY_GROW.test(at)) return before.filter((item) => !after.includes(item)).map((item) => `${at}: no ${item}`)
    if (before.length !== after.length) return [`${at}: ${before.length} items became ${after.length}`]
    return before.flatMap((item, i) => changesIn(item, after[i], `${at}[${i}]`))
  }
  if (isObject(before) && isObject(after)) {
    return Object.entries(before).flatMap(([name, value]) => changesIn(value, after[name], `${at}.${name}`))
  }
  return Object.is(before, after) ? [] : [`${at}: ${JSON.stringify(before)} became ${JSON.stringify(after)}`]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
