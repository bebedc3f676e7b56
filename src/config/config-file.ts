import { closeSync, openSync, readSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ErrorCode, parseDocument } from 'yaml'
import { lazily } from '../lib/lazily.ts'
import { type Problem, tellFirst } from './problems.ts'
import { type Path, pathText } from './settings.ts'

export type ConfigFile = {
  /** What the file sets. Empty if the file can't be read. */
  value: Record<string, unknown>
  problems: Problem[]
  /** Whether `value` contains everything in the file. */
  readable: boolean
  /**
   * The position of a setting, or of the nearest setting above it. It is the position of the key if `part` says so or
   * if the value has several lines.
   */
  positionOf(path: Path, part?: 'key' | 'value'): FilePosition | undefined
}

type FilePosition = { where: string; line: number; column: number }

type Document = ReturnType<typeof parseDocument>

/** Our own messages, because the parser's messages quote the text, which may be a secret. */
const SYNTAX: Partial<Record<ErrorCode, string>> = {
  BAD_ALIAS: 'anchors and aliases are not supported; put a value that starts with * or & in quotes',
  BAD_DQ_ESCAPE: 'an unknown escape in double quotes; use single quotes or double the backslash',
  BAD_INDENT: 'wrong indentation, or an earlier bracket that is not closed',
  BAD_SCALAR_START: "this character can't start a plain value; put the value in quotes",
  BLOCK_AS_IMPLICIT_KEY: `a mapping can't start here; put a value that contains ": " in quotes`,
  KEY_OVER_1024_CHARS: 'a key has at most 1,024 characters',
  MISSING_CHAR: 'a character is missing here, such as a closing quote, a bracket, a comma or a colon',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line and end with a colon',
  MULTIPLE_DOCS: 'only one YAML document is allowed; remove this line and what follows',
  RESOURCE_EXHAUSTION: 'nested too deeply',
  TAB_AS_INDENT: 'indent with spaces, not tabs',
  TAG_RESOLVE_FAILED: 'an unknown tag; put a value that starts with ! in quotes',
}

/** Reads the file `name`. If it is absent, and `required` is false, returns an empty one. */
export function readConfigFile(name: string, cwd: string, required: boolean): ConfigFile {
  const nothing: ConfigFile = { value: {}, problems: [], readable: true, positionOf: () => undefined }
  try {
    const file = readWieldy(resolve(cwd, name))
    if ('text' in file) return parseConfigFile(name, file.text)
    return { ...nothing, readable: false, problems: [{ text: `${name}: ${file.problem}` }] }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === undefined) throw error
    if (code === 'ENOENT' && !required) return nothing
    return { ...nothing, readable: false, problems: [{ text: `${name}: can't be read (${code})` }] }
  }
}

function parseConfigFile(name: string, text: string): ConfigFile {
  const { isMap, isScalar, LineCounter, parseDocument } = yaml()
  const lines = new LineCounter()
  // The parser's own check for repeated keys takes quadratic time.
  const options = { lineCounter: lines, prettyErrors: false, stringKeys: true, uniqueKeys: false } as const
  const document = parseDocument(text, options)
  const positionAt = (offset: number): FilePosition => {
    const { line, col } = lines.linePos(offset)
    return { where: `${name}:${line}:${col}`, line, column: col }
  }
  const problem = (offset: number, message: string): Problem => {
    const { where, line, column } = positionAt(offset)
    return { text: `${where}: ${message}`, line, column }
  }

  const faults = [...document.errors, ...document.warnings, ...aliases(document)]
  const problems = [
    ...tellFirst(faults, ({ code, pos: [offset] }) => [problem(offset, SYNTAX[code] ?? 'not valid YAML')]),
    ...tellFirst(repeatedKeys(document), ({ path, offset }) => [problem(offset, `${pathText(path)}: appears twice`)]),
  ]
  // If only a key is repeated, the rest can still be checked. After any other error, the structure is uncertain.
  let readable = faults.length === 0
  const isEmpty = document.contents === null || (isScalar(document.contents) && document.contents.value === null)
  if (readable && !isEmpty && !isMap(document.contents)) {
    problems.push(problem(0, 'must be a mapping of settings, such as "server:"'))
    readable = false
  }
  return {
    value: readable && !isEmpty ? (document.toJS() as Record<string, unknown>) : {},
    problems,
    readable,
    positionOf: (path, part = 'value') => {
      const offset = findOffset(document, path, part)
      return offset === undefined ? undefined : positionAt(offset)
    },
  }
}

function findOffset(document: Document, path: Path, part: 'key' | 'value'): number | undefined {
  const { isMap, isNode, isScalar, isSeq } = yaml()
  let node: unknown = document.contents
  let offset: number | undefined
  for (const key of path) {
    let keyNode: unknown
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && item.key.value === String(key))
      keyNode = pair?.key
      node = pair?.value
    } else {
      node = isSeq(node) && typeof key === 'number' ? node.items[key] : undefined
    }
    const shown = part === 'value' && isScalar(node) && node.value !== null ? node : (keyNode ?? node)
    if (!isNode(shown)) break
    offset = shown.range?.[0] ?? offset
  }
  return offset
}

function repeatedKeys(document: Document): { path: string[]; offset: number }[] {
  const { isScalar, visit } = yaml()
  const found: { path: string[]; offset: number }[] = []
  visit(document, {
    Map(_, { items }, ancestors) {
      const seen = new Set<string>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        const name = String(key.value)
        if (seen.has(name)) found.push({ path: [...keysOf(ancestors), name], offset: key.range?.[0] ?? 0 })
        seen.add(name)
      }
    },
  })
  return found
}

function keysOf(ancestors: readonly unknown[]): string[] {
  const { isPair, isScalar } = yaml()
  return ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [String(node.key.value)] : []))
}

function aliases(document: Document): { code: ErrorCode; pos: [number, number] }[] {
  const found: { code: ErrorCode; pos: [number, number] }[] = []
  yaml().visit(document, {
    Alias(_, { range }) {
      found.push({ code: 'BAD_ALIAS', pos: [range?.[0] ?? 0, range?.[1] ?? 0] })
    },
  })
  return found
}

/** The parser. A service without a configuration file doesn't load it. */
const yaml = lazily<typeof import('yaml')>('yaml')

const MAX_BYTES = 1024 * 1024
/** The most tokens: keys, values, punctuation and spaces. A line has about eight. */
const MAX_TOKENS = 50_000
const MAX_DEPTH = 64
const TOO_LARGE = 'is too large: at most 1 MiB, and about 6,000 lines of settings'

/** Returns the text of a file, or the reason why it can't be parsed. */
function readWieldy(path: string): { text: string } | { problem: string } {
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
