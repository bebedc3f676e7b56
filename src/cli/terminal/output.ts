import { styleText } from 'node:util'
import { visible } from '../../lib/text/visible.ts'
import { EXIT, exitCodeOf, explain, failureBody } from '../failure.ts'
import type { World } from '../world.ts'
import { renderTable } from './table.ts'

type Style = Parameters<typeof styleText>[0]

/** Prints data on stdout. Programs get it unchanged; on a terminal, control characters are escaped. */
export function print(world: World, text: string): void {
  printPainted(world, shown(world, 'stdout', text))
}

/** Prints lines with our own colors. All other parts must have been escaped by `shown`. */
export function printPainted({ stdout }: World, text: string): void {
  stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** Escapes text for a terminal. Text on stderr is always for people, who may read it later from a file. */
export function shown(world: World, stream: 'stdout' | 'stderr', text: string): string {
  return stream === 'stderr' || world[stream].isTTY ? visible(text) : text
}

export function printJson(world: World, value: unknown): void {
  print(world, JSON.stringify(value, null, 2))
}

/** Prints a message for people on stderr, so programs that read stdout needn't skip it. */
export function note(world: World, text: string, style?: Style): void {
  if (world.isJson) writeLine(world, JSON.stringify({ note: text.trim() }))
  else writeLine(world, style ? paint(world, 'stderr', style, text) : shown(world, 'stderr', text))
}

function writeLine({ stderr }: World, line: string): void {
  stderr.write(`${line}\n`)
}

export function paint(world: World, stream: 'stdout' | 'stderr', style: Style, text: string): string {
  const { NO_COLOR, FORCE_COLOR } = world.env
  const harmless = shown(world, stream, text)
  const isColorful = FORCE_COLOR ? FORCE_COLOR !== '0' : world[stream].isTTY === true && !NO_COLOR
  return isColorful ? styleText(style, harmless, { validateStream: false }) : harmless
}

/** `✔ done` on stderr. */
export function success(world: World, text: string): void {
  marked(world, 'green', '✔', text)
}

/** Reports what a command has done. Programs get the result as JSON. */
export function printDone(world: World, result: unknown, { json }: { json?: boolean }, words: string): void {
  if (json) printJson(world, result)
  else success(world, words)
}

export function warn(world: World, text: string): void {
  marked(world, 'yellow', 'warning', text)
}

/** Prints an error on stderr: as text, or with --json in the API's form. */
export function complain(world: World, error: unknown): void {
  if (world.isJson) writeLine(world, JSON.stringify(failureBody(error)))
  else if (exitCodeOf(error) === EXIT.waiting) marked(world, 'yellow', 'waiting', explain(error))
  else marked(world, 'red', 'error:', explain(error))
}

function marked(world: World, style: Style, mark: string, text: string): void {
  if (world.isJson) note(world, text)
  else writeLine(world, `${paint(world, 'stderr', style, mark)} ${shown(world, 'stderr', text)}`)
}

/** A field to show under its own name, or a title and a value. */
export type Column<T> = (keyof T & string) | readonly [title: string, of: (row: T) => unknown]

/** Columns from which people copy. */
const COPIED = new Set(['ID', 'REQUEST', 'NAME', 'AGENT', 'SCOPE'])

/** Prints a list: as JSON, or as a table that fits the terminal. */
export function printRows<T>(
  world: World,
  rows: readonly T[],
  columns: readonly Column<T>[],
  { json }: { json?: boolean } = {},
): void {
  if (json) return printJson(world, rows)
  if (rows.length === 0) return note(world, 'none')
  const { isTTY, columns: width } = world.stdout
  const named = columns.map((column) => (typeof column === 'string' ? fieldColumn<T>(column) : column))
  const table = renderTable(
    named.map(([title]) => ({ title, isCopied: COPIED.has(title) })),
    rows.map((row) => named.map(([, of]) => cell(of(row)))),
    isTTY ? width : undefined,
  )
  const [head = '', ...body] = table
  printPainted(world, [paint(world, 'stdout', 'bold', head), ...body].join('\n'))
}

/** `last_used_at` is shown as LAST USED. */
export function fieldColumn<T>(name: keyof T & string): [title: string, of: (row: T) => unknown] {
  const title = name.replace(/_(id|at)$/, '').replaceAll('_', ' ')
  return [title.toUpperCase(), (row) => row[name]]
}

/** Prints one record: as JSON, or one line per field. */
export function printRecord(world: World, record: object, { json }: { json?: boolean } = {}): void {
  if (json) return printJson(world, record)
  const fields = Object.entries(record)
  const width = Math.max(...fields.map(([name]) => name.length))
  const line = ([name, value]: [string, unknown]) => {
    const [first = '', ...rest] = shown(world, 'stdout', cell(value)).split('\n')
    const indented = rest.map((text) => `${' '.repeat(width + 2)}${text}`.trimEnd())
    return [`${paint(world, 'stdout', 'dim', name.padEnd(width))}  ${first}`.trimEnd(), ...indented].join('\n')
  }
  printPainted(world, fields.map(line).join('\n'))
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ') || '-'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
