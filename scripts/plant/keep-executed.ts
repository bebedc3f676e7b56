// Notes what each test file executes, in a process that runs test files with NODE_V8_COVERAGE.
import { hash } from 'node:crypto'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { takeCoverage } from 'node:v8'

/** The lines of a source that were executed, as bits, and the hash of its text. */
export type Lines = { hash: string; bits: string }
export type Executed = { file: string; sources: Record<string, Lines> }

type Script = { url: string; functions: { ranges: Range[] }[] }
type Range = { startOffset: number; endOffset: number; count: number }

const ROOT = join(import.meta.dirname, '../..')
/** Tests ask this module for the built service. Coverage doesn't show what the built service executes. */
export const BUILT = 'test/support/service/built.ts'

/** The function must be called after each test file: it takes what was executed since the last call. */
export function keepExecuted(folder: string): (file: string) => void {
  const reports = process.env['NODE_V8_COVERAGE'] ?? ''
  const base = `${pathToFileURL(ROOT).href}/`
  const texts = new Map<string, { text: string; hash: string }>()
  const textOf = (source: string) => {
    const text = readFileSync(join(ROOT, source), 'utf8')
    return { text, hash: hash('sha256', text) }
  }
  let count = 0
  return (file) => {
    takeCoverage()
    const sources: Record<string, Lines> = {}
    // There are several reports, because a thread writes its own when it ends.
    for (const name of globSync(`coverage-${process.pid}-*.json`, { cwd: reports })) {
      const { result } = JSON.parse(readFileSync(join(reports, name), 'utf8')) as { result: Script[] }
      rmSync(join(reports, name))
      for (const script of result) {
        const source = script.url.startsWith(base) ? script.url.slice(base.length) : ''
        if (!source.startsWith('src/') && source !== BUILT) continue
        const known = texts.get(source) ?? textOf(source)
        texts.set(source, known)
        const lines = executedLines(known.text, script)
        if (!lines.some(Boolean)) continue
        sources[source] = { hash: known.hash, bits: merged(sources[source]?.bits, lines) }
      }
    }
    writeFileSync(join(folder, `executed-${process.pid}-${count++}.json`), JSON.stringify({ file, sources }))
  }
}

/** Ranges are nested, outer ones first. The outermost is the module itself, which runs for the first file that imports it. */
function executedLines(text: string, { functions }: Script): boolean[] {
  const executed = new Uint8Array(text.length)
  for (const { startOffset, endOffset, count } of functions.flatMap(({ ranges }) => ranges)) {
    const isModule = startOffset === 0 && endOffset >= text.length
    executed.fill(count > 0 && !isModule ? 1 : 0, startOffset, endOffset)
  }
  let offset = 0
  return text.split('\n').map((line) => {
    const begin = offset + line.search(/\S|$/)
    offset += line.length + 1
    return executed.subarray(begin, offset - 1).includes(1)
  })
}

function merged(known: string | undefined, lines: boolean[]): string {
  const bits = known ? Buffer.from(known, 'base64') : Buffer.alloc(Math.ceil(lines.length / 8))
  for (const [i, isExecuted] of lines.entries()) {
    if (isExecuted) bits[i >> 3] = (bits[i >> 3] ?? 0) | (1 << (i & 7))
  }
  return bits.toString('base64')
}

export function isLineIn(bits: Buffer, line: number): boolean {
  return (((bits[(line - 1) >> 3] ?? 0) >> ((line - 1) & 7)) & 1) === 1
}

export function linesIn(bits: Buffer): number {
  return bits.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0)
}
