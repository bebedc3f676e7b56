import { randomUUID } from 'node:crypto'
import type { OpenFile } from '../attachments/attachment.ts'

/** The base64 of a multiple of three bytes needs no padding. */
const GROUP = 3

/**
 * The positions in a request where the bytes of files go, in base64. The bytes are read and written piece by piece
 * while the request is sent, so the whole request is never in memory.
 */
export class ByteSlots {
  /** Random, so no text of a prompt can contain it by chance or on purpose. */
  readonly #mark = `bytes-${randomUUID()}-`
  readonly #file_ids: string[] = []

  get file_ids(): readonly string[] {
    return this.#file_ids
  }

  /** Returns the placeholder for a file's bytes in the request. */
  add(file_id: string): string {
    const at = this.#file_ids.push(file_id) - 1
    return `${this.#mark}${at};`
  }

  /** Returns the request with the bytes in place, and its length. */
  async fill(json: string, open: (file_id: string) => Promise<OpenFile>) {
    const files = await Promise.all(this.#file_ids.map(open))
    const parts = json.split(this.#mark).map((part, i) => {
      if (i === 0) return { file: undefined, text: Buffer.from(part) }
      const end = part.indexOf(';')
      return { file: files[Number(part.slice(0, end))], text: Buffer.from(part.slice(end + 1)) }
    })
    const length = parts.reduce((sum, { file, text }) => sum + (file ? base64Length(file.size) : 0) + text.length, 0)
    return { length, pieces: piecesOf(parts) }
  }
}

type Part = { file: OpenFile | undefined; text: Buffer }

async function* piecesOf(parts: readonly Part[]): AsyncGenerator<Uint8Array> {
  for (const { file, text } of parts) {
    if (file) yield* base64Of(file)
    yield text
  }
}

async function* base64Of(file: OpenFile): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array()
  for await (const piece of file.read({ start: 0, end: file.size - 1 })) {
    const bytes = Buffer.concat([rest, piece])
    const whole = bytes.length - (bytes.length % GROUP)
    rest = bytes.subarray(whole)
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole))
  }
  if (rest.length > 0) yield Buffer.from(Buffer.from(rest).toString('base64'))
}

function base64Length(size: number): number {
  return Math.ceil(size / GROUP) * 4
}
