import { isObject, parseIfJson } from '../../lib/json.ts'
import { fromAgentFile, fromMessages, isAgentFile, isMessages } from './from-letta.ts'
import { fromMem0, isMem0 } from './from-mem0.ts'
import { fromMoorage, isMoorage } from './from-moorage.ts'
import type { Fields, ImportItem } from './import-item.ts'

export type Import = { format: 'moorage' | 'letta' | 'mem0'; items: ImportItem[] }

/** Reads an export of any known tool. Returns undefined when the format is not known. */
export function readImport(text: string): Import | undefined {
  const value = parse(text)
  if (isAgentFile(value)) return { format: 'letta', items: fromAgentFile(value) }
  const values = listIn(value)
  if (isMoorage(values)) return { format: 'moorage', items: fromMoorage(values) }
  if (isMem0(values)) return { format: 'mem0', items: fromMem0(values) }
  if (isMessages(values)) return { format: 'letta', items: fromMessages(values) }
  return undefined
}

/** One JSON value, or one on each line. */
function parse(text: string): unknown {
  return parseIfJson(text) ?? text.split('\n').map(parseIfJson)
}

/** mem0 has its list in `results` or `memories`. A file with one line is a list of one item. */
function listIn(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.filter(isObject)
  if (!isObject(value)) return []
  const inner = value['results'] ?? value['memories'] ?? value['data']
  return Array.isArray(inner) ? inner.filter(isObject) : [value]
}
