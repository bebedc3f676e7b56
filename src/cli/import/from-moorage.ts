import { type Fields, type ImportItem, itemOf, textOf, timeOf } from './import-item.ts'

const KINDS = new Set<unknown>(['turn', 'fact', 'note'])

/**
 * Our own format: the lines of `users export`, or the output of `memory list --json`. Superseded memories are left out.
 */
export function fromMoorage(values: Fields[]): ImportItem[] {
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

export function isMoorage([first]: Fields[]): boolean {
  return first !== undefined && KINDS.has(first['kind'])
    ? 'content' in first
    : ['memory', 'invocation', 'log'].includes(String(first?.['type']))
}
