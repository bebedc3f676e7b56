import type * as FileType from 'file-type'
import { lazily } from '../../lib/lazily.ts'
import { isText, MEDIA_TYPE, TEXT_TYPE } from '../../lib/text/text.ts'

const fileType = lazily<typeof FileType>('file-type')

const UNKNOWN = 'application/octet-stream'
/** Container formats. The bytes show only the container; the client knows what it contains. */
const PACKINGS = new Set(['application/zip', 'application/xml', 'application/x-cfb', 'application/gzip'])
const PACKED = /^application\/|\+(?:xml|zip|gzip)$|^text\/(?:xml|html)$/

/** A file's type: the one that the client names, unless the first bytes show another. Text keeps the client's type. */
export async function mediaTypeOf(head: Uint8Array, contentType: string | undefined): Promise<string> {
  const declared = typeNamed(contentType)
  const looksLikeText = isText(head)
  if (declared !== undefined && looksLikeText && TEXT_TYPE.test(declared)) return declared
  const { fileTypeFromBuffer, supportedMimeTypes } = fileType()
  const found = (await fileTypeFromBuffer(head))?.mime.split(';')[0]?.trim()
  if (found !== undefined) {
    return declared !== undefined && declared !== UNKNOWN && PACKINGS.has(found) && PACKED.test(declared)
      ? declared
      : found
  }
  const unrecognised = looksLikeText ? 'text/plain' : UNKNOWN
  if (declared === undefined || declared === UNKNOWN) return unrecognised
  // If the file had the declared type, that would have been detected. A file declared as text would have been found to
  // be text.
  return supportedMimeTypes.has(declared) || TEXT_TYPE.test(declared) ? unrecognised : declared
}

function typeNamed(contentType: string | undefined): string | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
  return MEDIA_TYPE.test(type) ? type : undefined
}
