import type { ContentBlock } from '@modelcontextprotocol/server'
import { TEXT_TYPE } from '../../../lib/text/text.ts'
import { IMAGES, readFirst } from '../../../runtime/attachments/attachment.ts'
import { contentAddress, type MadeFile } from '../made-files.ts'
import type { OperationCalls } from '../operation-calls.ts'

/** The room for files in one answer. Many clients, including ours, read at most 1 MiB of an answer. */
const MOST_BYTES = 640 * 1024

const AUDIO = /^audio\//

/**
 * The files of an answer in the protocol's form: images and audio as such, texts as embedded resources. Other files,
 * and files that don't fit, become links that the client reads with its own key.
 */
export async function contentOfFiles(files: readonly MadeFile[], calls: OperationCalls): Promise<ContentBlock[]> {
  const content: ContentBlock[] = []
  let left = MOST_BYTES
  for (const file of files) {
    const uri = contentAddress(file.file_id, calls.runner)
    const whole = file.size > left ? undefined : await wholeOf(file, uri, calls)
    const bytes = whole ? Buffer.byteLength(JSON.stringify(whole)) : 0
    const fits = whole && bytes <= left
    if (fits) left -= bytes
    content.push(fits ? whole : linkTo(file, uri))
  }
  return content
}

async function wholeOf(file: MadeFile, uri: string, calls: OperationCalls): Promise<ContentBlock | undefined> {
  const { name, media_type: mimeType } = file
  const isAudio = AUDIO.test(mimeType)
  if (!isAudio && !IMAGES.has(mimeType) && !TEXT_TYPE.test(mimeType)) return undefined
  const bytes = await bytesOf(file, calls)
  if (bytes === undefined) return undefined
  if (TEXT_TYPE.test(mimeType)) {
    const text = textIn(bytes)
    return text === undefined ? undefined : { type: 'resource', resource: { uri, mimeType, text } }
  }
  // In the protocol, these parts have no name and no URL.
  const meta = { 'moorage/file': { file_id: file.file_id, name, uri } }
  return { type: isAudio ? 'audio' : 'image', data: bytes.toString('base64'), mimeType, _meta: meta }
}

/** Undefined if the file can't be read now. The run has succeeded, so its answer is returned without this file. */
async function bytesOf({ file_id }: MadeFile, calls: OperationCalls): Promise<Buffer | undefined> {
  try {
    const content = await calls.content('getFileContent', { params: { file_id } })
    return content.size === 0 ? undefined : await readFirst(content, content.size)
  } catch {
    return undefined
  }
}

function textIn(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function linkTo({ name, media_type, size }: MadeFile, uri: string): ContentBlock {
  return { type: 'resource_link', uri, name, mimeType: media_type, size }
}
