import type { IncomingHttpHeaders } from 'node:http'
import type { Operation } from '../../operation.ts'
import type { Writer } from './dialect.ts'

/** The longest page of our own lists. */
const LONGEST_PAGE = 100

type ShownFile = { id: string; name: string; size: number; created_at: string; expires_at: string | null }

/** OpenAI's clients use the same path `/v1/files` as ours, but they identify themselves. */
export function isOpenaiClient(headers: IncomingHttpHeaders): boolean {
  return headers['x-stainless-lang'] !== undefined && headers['anthropic-version'] === undefined
}

/** Writes files in OpenAI's form. Undefined if the operation's answer isn't about files. */
export function openaiFileWriter({ path, answer: { content } }: Operation, ours: Writer): Writer | undefined {
  if (!path.startsWith('/v1/files') || content) return undefined
  return {
    ...ours,
    reply(operation, result, asked) {
      const { body, ...reply } = ours.reply(operation, result, asked)
      return { ...reply, body: JSON.stringify(replyOf(JSON.parse(body))) }
    },
  }
}

type FilesBody =
  | { data: ShownFile[]; pagination: { has_more: boolean } }
  | { data: ShownFile | { id: string; deleted: true } }

/** The reply in OpenAI's form, with everything that our own reply contains. */
function replyOf(shown: FilesBody) {
  if ('pagination' in shown) {
    const data = shown.data.map(fileOf)
    const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
    return { object: 'list', data, has_more: shown.pagination.has_more, ...ends }
  }
  const { data } = shown
  return 'deleted' in data ? { ...data, object: 'file' } : fileOf(data)
}

/** A file in OpenAI's form. Its purpose isn't stored, because every file can be shown to every agent. */
function fileOf({ id, name: filename, size: bytes, created_at, expires_at }: ShownFile) {
  const created = Date.parse(created_at) / 1000
  const end = expires_at === null ? {} : { expires_at: Math.floor(Date.parse(expires_at) / 1000) }
  return {
    id,
    object: 'file',
    bytes,
    created_at: Math.floor(created),
    filename,
    purpose: 'user_data',
    status: 'processed',
    ...end,
  }
}

/** Converts the query of a list to our own form. */
export function openaiFileQuery(query: string): string {
  const asked = new URLSearchParams(query)
  const order = asked.get('order')
  const limit = Number(asked.get('limit') ?? LONGEST_PAGE)
  asked.delete('purpose')
  asked.delete('order')
  if (order !== null) asked.set('sort', order === 'asc' ? 'created_at' : '-created_at')
  asked.set('limit', String(Math.min(limit, LONGEST_PAGE)))
  return asked.toString()
}
