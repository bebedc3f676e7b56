import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseDuration } from '../../lib/duration.ts'
import { parseIfJson } from '../../lib/json.ts'
import { formatTime, parseTime } from '../../lib/time.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import type { World } from '../world.ts'

/** Reads `15m` (ago) or a time, and returns it in the API's format. */
export function pointInTime(given: string): string {
  return momentOf(given, -1)
}

/** Reads `30d` (from now) or a time. */
export function timeAhead(given: string): string {
  return momentOf(given, 1)
}

function momentOf(given: string, direction: 1 | -1): string {
  if (parseTime(given) !== undefined) return given
  try {
    return formatTime(Date.now() + direction * parseDuration(given))
  } catch {
    throw usage(`"${given}" must be a duration such as 15m or a time such as 2026-11-15T03:11:00Z`)
  }
}

/** The words on the command line, or the text from stdin. */
export async function readMessage({ stdin }: World, words: string[]): Promise<string> {
  const given = words.join(' ')
  if (given !== '' && given !== '-') return given
  const read = stdin.isTTY && given === '' ? '' : (await text(stdin)).replace(/\r?\n$/, '')
  if (read === '') throw usage('Specify a message as an argument or on stdin.')
  return read
}

/** `-` is stdin, `@file` is a file, and anything else is the text itself. */
export async function readText({ stdin, cwd }: World, given: string): Promise<string> {
  if (given === '-') return text(stdin)
  return given.startsWith('@') ? readFile(resolve(cwd, given.slice(1))) : given
}

export function readFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new Failure(EXIT.usage, `${path} can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

export function parseJson(given: string, what: string): unknown {
  const value = parseIfJson(given)
  if (value === undefined) throw usage(`${what} must be valid JSON`)
  return value
}

/** Reads `Name: value`. */
export function readHeader(header: string): [string, string] {
  const [, name, value] = /^([^\s:]+):\s*(.*)$/.exec(header) ?? []
  if (name === undefined || value === undefined)
    throw usage(`"${header}" is not a valid header. Use the form "Name: value".`)
  return [name, value]
}
