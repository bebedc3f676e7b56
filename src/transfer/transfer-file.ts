import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { z } from 'zod'
import { parseIfJson } from '../lib/json.ts'
import { problemIn } from '../lib/text/plain-issue.ts'
import type { Envelope } from '../security/sealed-box.ts'
import { PARTS } from './transfer-parts.ts'

// A file consists of lines. The first is the header. Each table follows: a line with its columns, a line for each row,
// and a line with the number and the digest of the rows. Files with the same bytes come directly after these bytes. The
// last line contains the digest of all lines before it, so a file that was cut off or changed is detected. If bytes
// could not be read to their end, a line says so instead of the rest, and no file has them.

/** Files of another format are refused. This changes when a reader of this format would misunderstand a file. */
const FORMAT = 1

/** The most bytes in one line, so that a file can't fill the memory of its reader. */
const LONGEST_LINE = 64 * 2 ** 20

/** Bytes are written in lines with this many bytes each, before base64. */
export const PIECE_BYTES = 192 * 1024

const Digest = z.string().regex(/^[0-9a-f]{64}$/)
const Count = z.int().min(0)

const Header = z.strictObject({
  moorage_export: z.literal(FORMAT),
  /** The version that wrote the file. */
  version: z.string().max(100),
  created_at: z.int().min(0).max(8.64e15),
  project: z.strictObject({
    name: z.string(),
    description: z.string().nullable(),
    limits: z.record(z.string(), z.unknown()),
    created_at: z.int().min(0).max(8.64e15),
  }),
  with: z.array(z.enum(PARTS)),
  /** Null if the secrets were left out. */
  sealed: z.strictObject({ recipient: z.string().max(200), sender: z.string().max(100) }).nullable(),
})

const Part = z.union([
  z.strictObject({ table: z.string().max(100), columns: z.array(z.string().max(100)).max(200) }),
  z.strictObject({ blob: Digest, size: Count }),
  z.strictObject({ bytes: z.base64() }),
  z.strictObject({ cut: Digest }),
  z.strictObject({ end: z.string().max(100), rows: Count, sha256: Digest }),
  z.strictObject({ lines: Count, sha256: Digest }),
])

export type TransferHeader = Omit<z.output<typeof Header>, 'sealed'> & { sealed: Envelope | null }
type FilePart = z.output<typeof Part>

/** How many rows of a table were exported, and their digest. Equal digests mean equal rows. */
export type TableDigest = { table: string; rows: number; sha256: string }

/** The file isn't an export or is damaged. Nothing of it was imported. */
export class TransferFileError extends Error {}

/** Writes the lines of a file, and counts what it has written. */
export class TransferWriter {
  readonly tables: TableDigest[] = []
  readonly #write: (text: string) => Promise<void>
  readonly #whole = createHash('sha256')
  #open = { table: '', rows: 0, hash: createHash('sha256') }
  #lines = 0

  constructor(write: (text: string) => Promise<void>) {
    this.#write = write
  }

  header(header: Omit<TransferHeader, 'moorage_export'>): Promise<void> {
    return this.#line({ moorage_export: FORMAT, ...header })
  }

  begin(table: string, columns: readonly string[]): Promise<void> {
    this.#open = { table, rows: 0, hash: createHash('sha256') }
    return this.#line({ table, columns })
  }

  /** `shown` is the row without its secrets, because they are sealed differently each time. */
  row(cells: readonly unknown[], shown: readonly unknown[]): Promise<void> {
    this.#open.rows++
    this.#open.hash.update(`${JSON.stringify(shown)}\n`)
    return this.#line(cells)
  }

  blob(blob: string, size: number): Promise<void> {
    return this.#line({ blob, size })
  }

  bytes(piece: Uint8Array): Promise<void> {
    return this.#line({ bytes: Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('base64') })
  }

  /** Says that the bytes written so far for this blob don't count. */
  cut(blob: string): Promise<void> {
    return this.#line({ cut: blob })
  }

  end(): Promise<void> {
    const { table, rows, hash } = this.#open
    const digest = { table, rows, sha256: hash.digest('hex') }
    this.tables.push(digest)
    return this.#line({ end: table, rows, sha256: digest.sha256 })
  }

  /** Returns the digest of the file. */
  async finish(): Promise<string> {
    const sha256 = this.#whole.copy().digest('hex')
    await this.#line({ lines: this.#lines, sha256 })
    return sha256
  }

  async #line(content: unknown): Promise<void> {
    const line = `${JSON.stringify(content)}\n`
    if (line.length > LONGEST_LINE / 4 && Buffer.byteLength(line) > LONGEST_LINE) {
      throw new Error(`a row of ${this.#open.table} is longer than ${LONGEST_LINE} bytes`)
    }
    this.#lines++
    this.#whole.update(line)
    await this.#write(line)
  }
}

/** What a file contains, line by line. `line` is the line number. */
export type FileLine = { line: number } & (
  | { kind: 'header'; header: TransferHeader }
  | { kind: 'table'; table: string; columns: string[] }
  | { kind: 'row'; cells: unknown[] }
  | { kind: 'blob'; sha256: string; size: number }
  | { kind: 'bytes'; piece: Buffer }
  | { kind: 'cut'; sha256: string }
  | { kind: 'end'; table: string; rows: number; sha256: string }
  | { kind: 'last'; sha256: string }
)

/** Reads a file to its end, and throws there if it isn't what was written. */
export async function* readTransfer(path: string): AsyncGenerator<FileLine> {
  const whole = createHash('sha256')
  let line = 0
  let isWhole = false
  for await (const bytes of linesOf(path)) {
    if (isWhole) throw damaged('it continues after its last line')
    line++
    const isRow = bytes[0] === OPEN_BRACKET
    const before = isRow || line === 1 ? undefined : whole.copy()
    whole.update(bytes)
    if (line === 1) {
      yield { line, kind: 'header', header: readHeader(textOf(bytes, line)) }
      continue
    }
    if (isRow) {
      const cells = parseIfJson(textOf(bytes, line))
      if (!Array.isArray(cells)) throw damaged(`line ${line} can't be read`)
      yield { line, kind: 'row', cells }
      continue
    }
    const said = readPart(textOf(bytes, line), line)
    if (said.kind === 'last') {
      if (said.lines !== line - 1 || said.sha256 !== before?.digest('hex')) throw damaged('its digest is another')
      isWhole = true
    }
    yield said
  }
  if (!isWhole) throw damaged('its end is missing')
}

const OPEN_BRACKET = '['.charCodeAt(0)
const NEW_LINE = '\n'.charCodeAt(0)

/** The lines of a file, including their line breaks. */
async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let length = 0
  for await (const chunk of createReadStream(path, { highWaterMark: 2 ** 18 }) as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(NEW_LINE); end >= 0; end = chunk.indexOf(NEW_LINE, start)) {
      const last = chunk.subarray(start, end + 1)
      yield rest.length > 0 ? Buffer.concat([...rest, last]) : last
      rest = []
      length = 0
      start = end + 1
    }
    if (start === chunk.length) continue
    rest.push(chunk.subarray(start))
    length += chunk.length - start
    if (length > LONGEST_LINE) throw damaged(`it has a line of more than ${LONGEST_LINE} bytes`)
  }
  if (length > 0) throw damaged('its end is missing')
}

function textOf(line: Buffer, number: number): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line)
  } catch {
    throw damaged(`line ${number} is not UTF-8`)
  }
}

function readHeader(text: string): TransferHeader {
  const said = parseIfJson(text)
  const format =
    said !== null && typeof said === 'object' ? (said as Record<string, unknown>)['moorage_export'] : undefined
  if (typeof format !== 'number') throw new TransferFileError('This is not a file from `moorage export`.')
  if (format !== FORMAT) {
    throw new TransferFileError(
      `This file has format ${format}. This version of Moorage reads format ${FORMAT}: import it with a newer version.`,
    )
  }
  const problem = problemIn(Header, said)
  if (problem !== undefined) throw damaged(`its header is wrong: ${problem}`)
  return Header.parse(said)
}

function readPart(text: string, line: number): FileLine & { lines?: number } {
  const { data } = Part.safeParse(parseIfJson(text))
  if (!data) throw damaged(`line ${line} can't be read`)
  return { line, ...told(data) }
}

function told(part: FilePart) {
  if ('table' in part) return { kind: 'table', ...part } as const
  if ('blob' in part) return { kind: 'blob', sha256: part.blob, size: part.size } as const
  if ('bytes' in part) return { kind: 'bytes', piece: Buffer.from(part.bytes, 'base64') } as const
  if ('cut' in part) return { kind: 'cut', sha256: part.cut } as const
  if ('end' in part) return { kind: 'end', table: part.end, rows: part.rows, sha256: part.sha256 } as const
  return { kind: 'last', ...part } as const
}

export function damaged(why: string): TransferFileError {
  return new TransferFileError(`The file is damaged or was changed: ${why}.`)
}
