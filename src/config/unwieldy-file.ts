import { closeSync, openSync, readSync } from 'node:fs'
import { lazily } from '../lib/lazily.ts'

/** The parser. A service without a configuration file doesn't load it. */
export const yaml = lazily<typeof import('yaml')>('yaml')

const MAX_BYTES = 1024 * 1024
/** The most tokens: keys, values, punctuation and spaces. A line has about eight. */
const MAX_TOKENS = 50_000
const MAX_DEPTH = 64
const TOO_LARGE = 'is too large: at most 1 MiB, and about 6,000 lines of settings'

/** Returns the text of a file, or the reason why it can't be parsed. */
export function readWieldy(path: string): { text: string } | { problem: string } {
  const bytes = readAtMost(path, MAX_BYTES + 1)
  if (bytes.length > MAX_BYTES) return { problem: TOO_LARGE }
  const text = bytes.toString('utf8')
  const problem = unwieldiness(text)
  return problem === undefined ? { text } : { problem }
}

/** Reads only part of the file, which may be an endless device. */
function readAtMost(path: string, size: number): Buffer {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(size)
    let length = 0
    for (let read = -1; read !== 0 && length < size; length += read) {
      read = readSync(file, bytes, length, size - length, null)
    }
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

/** The parser takes very long for a file with many keys or deep nesting. Counting the tokens is fast. */
function unwieldiness(text: string): string | undefined {
  const { CST, Lexer } = yaml()
  let tokens = 0
  let depth = 0
  for (const token of new Lexer().lex(text)) {
    const type = CST.tokenType(token)
    if (type === 'explicit-key-ind') return 'keys are written as "name: value", without a question mark'
    if (type === 'flow-map-start' || type === 'flow-seq-start') depth += 1
    if (type === 'flow-map-end' || type === 'flow-seq-end') depth -= 1
    if (depth > MAX_DEPTH) return `brackets are nested more than ${MAX_DEPTH} deep`
    tokens += 1
    if (tokens > MAX_TOKENS) return TOO_LARGE
  }
  return undefined
}
