import { isDeeper } from '../../lib/json.ts'

/** About what a model writes in 64,000 tokens. Parsing it takes a few milliseconds. */
const MAX_CHARACTERS = 256 * 1024
const MAX_DEPTH = 64

/** An answer that is JSON: the value, and its text without what stood around it. */
export type JsonAnswer = { value: unknown; text: string }

const FENCED = /^```[a-z0-9_-]*[ \t]*\r?\n([\s\S]*?)\r?\n?```$/i

/** Reads the answer of a model as JSON. Models like to put code fences around it. */
export function readAnswer(answer: string): JsonAnswer | { problem: string } {
  const trimmed = answer.trim()
  const text = (FENCED.exec(trimmed)?.[1] ?? trimmed).trim()
  if (text === '') return { problem: 'is empty' }
  if (text.length > MAX_CHARACTERS) return { problem: `is longer than ${MAX_CHARACTERS} characters` }
  try {
    const value: unknown = JSON.parse(text)
    return isDeeper(value, MAX_DEPTH) ? { problem: `is nested more than ${MAX_DEPTH} deep` } : { value, text }
  } catch (error) {
    return { problem: `is not JSON: ${(error as Error).message.slice(0, 200)}` }
  }
}
