import { isObject, parseIfJson } from '../../lib/json.ts'
import { fromAgentFile, fromMessages, isAgentFile, isMessages } from './from-letta.ts'
import { type Fields, type ImportItem, itemOf, textOf, timeOf } from './import-item.ts'

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
