import { useRef } from 'preact/hooks'
import { MoorageError } from '../../../sdk/client.ts'
import { type Clash, changedFields, mergeChanges } from './merge-changes.ts'

type Send<Body> = (changes: Partial<Body>) => Promise<unknown>

/**
 * Tracks what the reader changes in a form for a record. The returned function sends only the changed fields, if there
 * are any. If another person has changed the same fields since, it refuses and tells the reader, and saving a second
 * time replaces them.
 */
export function useChanges<Body extends object>(
  opened: Body,
): (wanted: Body, now: Body, send: Send<Body>) => Promise<void> {
  const began = useRef(opened)
  return async (wanted, now, send) => {
    const merged = mergeChanges(began.current, wanted, now)
    began.current = merged.began
    if (merged.clashes.length > 0) throw changedElsewhere(merged.clashes)
    const changes = changedFields(now, merged.value)
    if (Object.keys(changes).length > 0) await send(changes)
  }
}

export function changedElsewhere(clashes: readonly Clash[]): MoorageError {
  return new MoorageError('conflict', 'Someone else changed the same fields while you were editing.', {
    details: clashes.map(({ field, theirs }) => ({
      field,
      error: `was ${changeText(theirs)} while you were editing. Save again to overwrite it with your value.`,
    })),
  })
}

const LONGEST_SHOWN = 60

function changeText(value: unknown): string {
  if (value === null || value === undefined) return 'cleared'
  const text = typeof value === 'object' ? '' : String(value)
  return text === '' || text.length > LONGEST_SHOWN || text.includes('\n') ? 'changed' : `changed to ${text}`
}
