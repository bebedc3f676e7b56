import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { createTwoFilesPatch } from 'diff'

const FOLDER = resolve(import.meta.dirname, '../../fixtures/approved')

const MOST_LINES = 60

/** What differs from run to run, and its replacement. */
const UNSTEADY: readonly Replacement[] = [
  [/\bmrg_[0-9A-Za-z]{49}/g, 'key'],
  [/\b[a-z]{3,4}_[0-9A-HJKMNP-TV-Z]{20,}/g, 'id'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, 'uuid'],
  [/\b(127\.0\.0\.1|localhost):\d+/g, 'host'],
]

const TIMES: Replacement = [/\b\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?/g, 'time']

export type Replacement = readonly [found: RegExp, name: string]

/**
 * Fails unless a client gets exactly the approved text. It is in test/fixtures/approved, where reviewers of a change
 * read it. `npm test -- part-of-the-file-name --test-update-snapshots` writes it again.
 */
export function approve(t: TestContext, name: string, text: string): void {
  const path = resolve(FOLDER, name)
  if (!isApproved(t, path, text)) assert.fail(`${name} differs from the approved text:\n${differences(path, text)}`)
}

function isApproved(t: TestContext, path: string, text: string): boolean {
  try {
    t.assert.fileSnapshot(text, path, { serializers: [(value: string) => value] })
    return true
  } catch {
    return false
  }
}

/** Only the differing lines, because both texts may have a thousand lines. */
function differences(path: string, text: string): string {
  const approved = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const lines = createTwoFilesPatch('approved', 'now', approved, text, '', '', { context: 2 }).split('\n')
  return lines.slice(0, MOST_LINES).join('\n')
}

/**
 * Replaces everything that differs between runs with names. The same ID always gets the same number. If the clock
 * doesn't move, times are kept.
 */
export function steady(text: string, more: readonly Replacement[] = [], { keepsTimes = false } = {}): string {
  const unsteady = [...more, ...UNSTEADY, ...(keepsTimes ? [] : [TIMES])]
  return unsteady.reduce((so, [pattern, name]) => {
    const numbers = new Map<string, number>()
    return so.replace(pattern, (found) => {
      if (name !== 'id' && name !== 'uuid') return `<${name}>`
      const number = numbers.get(found) ?? numbers.size + 1
      numbers.set(found, number)
      return name === 'id' ? `<${found.split('_')[0]} ${number}>` : `<${name} ${number}>`
    })
  }, text)
}
