import { styleText } from 'node:util'
import { visible } from '../../lib/text/visible.ts'
import { explain, failureBody } from '../failure.ts'
import type { World } from '../world.ts'
import { renderTable } from './table.ts'

type Style = Parameters<typeof styleText>[0]

/** Data for whoever reads stdout: a program gets it as it is, a terminal without what would steer it. */
export function print(world: World, text: string): void {
  printPainted(world, shown(world, 'stdout', text))
}

/** Lines with colours of our own, whose other parts are `shown`. */
export function printPainted({ stdout }: World, text: string): void {
  stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

/** What is on stderr is for people, wherever it ends up: in a terminal now, or later out of a file. */
export function shown(world: World, stream: 'stdout' | 'stderr', text: string): string {
  return stream === 'stderr' || world[stream].isTTY ? visible(text) : text
}

export function printJson(world: World, value: unknown): void {
  print(world, JSON.stringify(value, null, 2))
}

/** What a person should know and a program should not have to skip. */
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

export function warn(world: World, text: string): void {
  marked(world, 'yellow', 'warning', text)
}

/** What went wrong, on stderr: in words, or with --json as the API says it. */
export function complain(world: World, error: unknown): void {
  if (world.isJson) writeLine(world, JSON.stringify(failureBody(error)))
  else marked(world, 'red', 'error', explain(error))
}

function marked(world: World, style: Style, mark: string, text: string): void {
  if (world.isJson) note(world, text)
  else writeLine(world, `${paint(world, 'stderr', style, mark)} ${shown(world, 'stderr', text)}`)
}

export type Column<T> = { title: string; of(row: T): unknown }

/** Columns that people copy from. */
const WHOLE = new Set(['ID', 'REQUEST', 'NAME', 'AGENT', 'SCOPE'])

/** A list as the reader wants it: JSON as it came, or a table that fits the terminal. */
export function printRows<T>(world: World, rows: T[], columns: Column<T>[], { json }: { json?: boolean }): void {
  if (json) return printJson(world, rows)
  if (rows.length === 0) return note(world, 'none')
  const { isTTY, columns: width } = world.stdout
  const table = renderTable(
    columns.map(({ title }) => ({ title, whole: WHOLE.has(title) })),
    rows.map((row) => columns.map(({ of }) => cell(of(row)))),
    isTTY ? width : undefined,
  )
  const [head = '', ...body] = table
  printPainted(world, [paint(world, 'stdout', 'bold', head), ...body].join('\n'))
}

/** One thing: JSON as it came, or a line for each field. */
export function printRecord(world: World, record: object, { json }: { json?: boolean }): void {
  if (json) return printJson(world, record)
  const fields = Object.entries(record)
  const width = Math.max(...fields.map(([name]) => name.length))
  const line = ([name, value]: [string, unknown]) => {
    const [first = '', ...rest] = shown(world, 'stdout', cell(value)).split('\n')
    const indented = rest.map((text) => `${' '.repeat(width + 2)}${text}`)
    return [`${paint(world, 'stdout', 'dim', name.padEnd(width))}  ${first}`.trimEnd(), ...indented].join('\n')
  }
  printPainted(world, fields.map(line).join('\n'))
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.join(', ') || '-'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
