import type { Json } from '../../lib/json.ts'

/** A memory as `POST …/memory` accepts it. */
export type ImportItem = {
  content: string
  kind: 'turn' | 'fact' | 'note'
  role?: 'user' | 'assistant'
  context?: { user_id?: string; session_id?: string }
  metadata?: { [name: string]: Json }
  created_at?: string
}

/** Any JSON object with unknown fields. */
export type Fields = { [name: string]: unknown }

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Times without an offset are read as UTC, because both tools write them that way. */
export function timeOf(value: unknown): string | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  const hasOffset = /(?:[zZ]|[+-]\d\d:?\d\d)$/.test(text)
  const time = Date.parse(hasOffset ? text : `${text.replace(' ', 'T')}Z`)
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/** Makes an item, leaving out absent fields. */
export function itemOf(
  kind: ImportItem['kind'],
  content: string,
  {
    role,
    user_id,
    session_id,
    metadata,
    created_at,
  }: Partial<Record<'role' | 'user_id' | 'session_id' | 'created_at', string | undefined>> & { metadata?: Fields },
): ImportItem {
  const context = { ...(user_id !== undefined && { user_id }), ...(session_id !== undefined && { session_id }) }
  return {
    content,
    kind,
    ...(role !== undefined && { role: role as 'user' | 'assistant' }),
    ...(Object.keys(context).length > 0 && { context }),
    ...(metadata && Object.keys(metadata).length > 0 && { metadata: metadata as { [name: string]: Json } }),
    ...(created_at !== undefined && { created_at }),
  }
}
