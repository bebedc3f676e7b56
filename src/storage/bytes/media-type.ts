import type * as FileType from 'file-type'
import { lazily } from '../../lib/lazily.ts'
import { isText, MEDIA_TYPE, TEXT_TYPE } from '../../lib/text/text.ts'

const fileType = lazily<typeof FileType>('file-type')

const UNKNOWN = 'application/octet-stream'
/** Container formats. The bytes only show the container, and the client knows what is in it. */
const PACKINGS = new Set(['application/zip', 'application/xml', 'application/x-cfb', 'application/gzip'])
const PACKED = /^application\/|\+(?:xml|zip|gzip)$|^text\/(?:xml|html)$/

/** The type of a file: the client's, unless the first bytes show another. Text keeps the client's type. */
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
  // A file of this type would have been detected, and a file that claims to be text must be text.
  return supportedMimeTypes.has(declared) || TEXT_TYPE.test(declared) ? unrecognised : declared
}

function typeNamed(contentType: string | undefined): string | undefined {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
  return MEDIA_TYPE.test(type) ? type : undefined
}
