import { isObject, type Json, parseIfJson } from '../../lib/json.ts'

export type Import = { format: 'moorage' | 'letta' | 'mem0'; items: ImportItem[] }

/** Reads an export from any known tool. Returns undefined if the format is unknown. */
export function readImport(text: string): Import | undefined {
  const value = parse(text)
  if (isAgentFile(value)) return { format: 'letta', items: fromAgentFile(value) }
  const values = listIn(value)
  if (isMoorage(values)) return { format: 'moorage', items: fromMoorage(values) }
  if (isMem0(values)) return { format: 'mem0', items: fromMem0(values) }
  if (isMessages(values)) return { format: 'letta', items: fromMessages(values) }
  return undefined
}

/** Reads one JSON value, or one value per line. */
function parse(text: string): unknown {
  return parseIfJson(text) ?? text.split('\n').map(parseIfJson)
}

/** mem0 has its list in `results` or `memories`. A file with one line is a list with one item. */
function listIn(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.filter(isObject)
  if (!isObject(value)) return []
  const inner = value['results'] ?? value['memories'] ?? value['data']
  return Array.isArray(inner) ? inner.filter(isObject) : [value]
}

/** mem0: a list of memories, each of which is a sentence about a user. */
function fromMem0(values: Fields[]): ImportItem[] {
  return values.flatMap((found) => {
    const content = textOf(found['memory'])
    if (content === undefined) return []
    const { metadata, categories, id } = found
    return itemOf('fact', content, {
      user_id: textOf(found['user_id']),
      session_id: textOf(found['run_id']),
      metadata: {
        ...(isObject(metadata) && metadata),
        ...(Array.isArray(categories) && { categories }),
        ...(textOf(id) && { mem0_id: id }),
      },
      created_at: timeOf(found['created_at']),
    })
  })
}

function isMem0([first]: Fields[]): boolean {
  return textOf(first?.['memory']) !== undefined
}

const KINDS = new Set<unknown>(['turn', 'fact', 'note'])

/**
 * Our own format: the lines from `users export`, or the output of `memory list --json`. Superseded memories are left
 * out.
 */
function fromMoorage(values: Fields[]): ImportItem[] {
  return values.flatMap((memory) => {
    const content = textOf(memory['content'])
    const isMemory = memory['type'] === undefined || memory['type'] === 'memory'
    if (!isMemory || content === undefined || !KINDS.has(memory['kind']) || textOf(memory['superseded_by'])) return []
    return itemOf(memory['kind'] as ImportItem['kind'], content, {
      role: textOf(memory['role']),
      user_id: textOf(memory['user_id']),
      session_id: textOf(memory['session_id']),
      metadata: (memory['metadata'] ?? {}) as Fields,
      created_at: timeOf(memory['created_at']),
    })
  })
}

function isMoorage([first]: Fields[]): boolean {
  return first !== undefined && KINDS.has(first['kind'])
    ? 'content' in first
    : ['memory', 'invocation', 'log'].includes(String(first?.['type']))
}

/**
 * Letta: an agent file (`.af`) in the new or the old format. Its blocks become facts, and its messages become turns.
 */
function fromAgentFile(file: Fields): ImportItem[] {
  const agents = listOf(file['agents'])
  const messages = (agents.length > 0 ? agents : [file]).flatMap((agent) => listOf(agent['messages']))
  const blocks = [...listOf(file['blocks']), ...listOf(file['core_memory'])]
  return [...blocks.flatMap(factOf), ...fromMessages(messages)]
}

function isAgentFile(value: unknown): value is Fields {
  return isObject(value) && (Array.isArray(value['agents']) || Array.isArray(value['messages']))
}

/** The messages of a Letta agent, from its file or its API. */
function fromMessages(messages: Fields[]): ImportItem[] {
  return messages.flatMap((message) => {
    const said = saidIn(message)
    if (!said) return []
    const created_at = timeOf(message['created_at'] ?? message['date'])
    return itemOf('turn', said.content, { role: said.role, created_at, metadata: idOf(message) })
  })
}

function isMessages([first]: Fields[]): boolean {
  return textOf(first?.['message_type']) !== undefined || textOf(first?.['role']) !== undefined
}

function factOf(block: Fields): ImportItem[] {
  const value = textOf(block['value'])
  return value === undefined ? [] : [itemOf('fact', value, { metadata: { label: block['label'] ?? 'block' } })]
}

type LettaText = { role: 'user' | 'assistant'; content: string }

const ROLES: Record<string, LettaText['role']> = {
  user: 'user',
  assistant: 'assistant',
  user_message: 'user',
  assistant_message: 'assistant',
}

/** Thoughts, tool calls, system messages and heartbeats are left out. */
function saidIn(message: Fields): LettaText | undefined {
  const role = ROLES[String(message['message_type'] ?? message['role'])]
  if (role === undefined) return undefined
  const text = contentOf(message['content'] ?? message['text'])
  const content = role === 'user' ? unpacked(text) : (sentMessage(message) ?? text)
  return content === undefined ? undefined : { role, content }
}

/** The content is a text, or a list that contains texts. */
function contentOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return textOf(content)
  const texts = listOf(content).flatMap((part) => (part['type'] === 'text' ? (textOf(part['text']) ?? []) : []))
  return textOf(texts.join('\n'))
}

/** A user's message may be wrapped in JSON together with its time. Heartbeats and logins are wrapped the same way. */
function unpacked(text: string | undefined): string | undefined {
  const packed = text?.startsWith('{') ? parseIfJson(text) : undefined
  if (!isObject(packed) || textOf(packed['type']) === undefined) return text
  return packed['type'] === 'user_message' ? textOf(packed['message']) : undefined
}

/** Older agents speak by calling a tool. Their own text is what they thought. */
function sentMessage(message: Fields): string | undefined {
  const calls = listOf(message['tool_calls'])
  if (calls.length === 0) return undefined
  const sent = calls.flatMap(({ function: called }) => {
    if (!isObject(called) || called['name'] !== 'send_message') return []
    const given = parseIfJson(String(called['arguments']))
    return isObject(given) ? (textOf(given['message']) ?? []) : []
  })
  return sent.length > 0 ? sent.join('\n') : undefined
}

function idOf({ id }: Fields): Fields {
  return textOf(id) === undefined ? {} : { letta_id: id }
}

function listOf(value: unknown): Fields[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

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
type Fields = { [name: string]: unknown }

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Times without an offset are read as UTC, because both tools write them that way. */
function timeOf(value: unknown): string | undefined {
  const text = textOf(value)
  if (text === undefined) return undefined
  const hasOffset = /(?:[zZ]|[+-]\d\d:?\d\d)$/.test(text)
  const time = Date.parse(hasOffset ? text : `${text.replace(' ', 'T')}Z`)
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}

/** Makes an item, leaving out absent fields. */
function itemOf(
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
