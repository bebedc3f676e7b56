import { type Attachment, FileNotKept, type ToolFile } from '../attachments/attachment.ts'
import { ToolError, type ToolWorld } from './tool.ts'

type FileNeeds = Pick<ToolWorld, 'keepFile' | 'redact'>

/** The text that tells the model about one file of a result, and the file if it was stored. */
export type FileResult = { text: string; file?: Attachment }

/** Stores a file of a result. If it can't be stored, it is described in words, and the rest of the result is used. */
export async function keepToolFile(file: ToolFile, { keepFile, redact }: FileNeeds): Promise<FileResult> {
  const name = redact(file.name)
  if (!keepFile) return { text: `[file ${name}: ${file.media_type ?? 'of unknown type'}]` }
  try {
    const kept = await keepFile({ ...file, name })
    const { file_id, media_type, size } = kept
    return { text: `[file ${kept.name}: ${media_type}, ${size} bytes, id ${file_id}]`, file: kept }
  } catch (error) {
    if (error instanceof FileNotKept) return { text: `[file ${name} was not stored: ${error.message}]` }
    throw error
  }
}

/** A name for a file without one: the tool's name, with an extension for its type. */
export function fileNameOf(tool: string, media_type: string | undefined): string {
  const kind = media_type
    ?.split(';')[0]
    ?.split('/')[1]
    ?.replace(/^x-|\+.*$/g, '')
  return kind && /^[a-z0-9.-]{1,20}$/i.test(kind) ? `${tool}.${kind.toLowerCase()}` : tool
}

/** The last part of a URL, if it can be a name. */
export function nameInAddress(uri: string): string | undefined {
  try {
    const last = decodeURIComponent(uri.split(/[?#]/)[0]?.split('/').at(-1) ?? '')
    return last === '' ? undefined : last
  } catch {
    return undefined
  }
}

/** Bytes in base64 as a tool sends them. Throws ToolError if they are invalid. */
export async function* decoded(base64: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(base64, 'base64')
  if (bytes.length === 0) throw new ToolError('A file in the result is empty, or its content is not valid base64')
  yield bytes
}
