import { ApiError, fileTooLarge, invalid } from '../../errors.ts'
import { BASE64 } from '../../lib/text/text.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Uploads } from '../../operation/context.ts'
import type { AttachmentInput } from '../../runtime/attachments/attachment.ts'
import type { GivenInput } from '../../runtime/given.ts'
import { mediaTypeOf } from '../../storage/bytes/media-type.ts'
import { Upload } from '../../storage/bytes/upload.ts'
import type { InvokeBody } from '../invocation.ts'
import { fetchFile, type ReceiveParts } from './fetch-file.ts'

/** A client that sends the whole conversation may have images in every turn. */
const MOST_RECEIVED = 100
/** How many attachments of one message are received at the same time. */
const RECEIVED_AT_ONCE = 4

export type IncomingFiles = { body: Pick<InvokeBody, 'attachments'>; given: GivenInput | undefined }

/**
 * Receives the bytes of attachments that aren't stored yet, before the run is admitted and outside of any transaction,
 * because fetching may take a while. Undefined if there are none.
 */
export async function receiveAttachments(
  { body, given }: IncomingFiles,
  { scope }: Actor,
  parts: ReceiveParts,
): Promise<Uploads | undefined> {
  const earlier = (given?.history ?? []).flatMap((turn, i) => placed(turn, `history.${i}.`))
  const wanted = [...placed(body, ''), ...earlier].filter(({ one }) => !('file_id' in one))
  if (wanted.length === 0) return undefined
  if (wanted.length > MOST_RECEIVED) {
    throw invalid({
      field: 'attachments',
      error: `can contain at most ${MOST_RECEIVED} files in the whole conversation`,
    })
  }
  const taken = new Map<object, Upload | ApiError>()
  const release = async () => {
    for (const one of taken.values()) if (one instanceof Upload) await parts.bytes.release(one.taken)
  }
  // The files are part of the request and share its time limit.
  const signal = AbortSignal.timeout(parts.config.server.requestTimeout)
  try {
    const left = wanted.values()
    const receiveOnes = async () => {
      for (const { one, field } of left) {
        const received = receive(one, field, { project_id: scope.project_id, signal }, parts)
        taken.set(one, await received.catch(asRefusal))
      }
    }
    const lanes = await Promise.allSettled(Array.from({ length: RECEIVED_AT_ONCE }, receiveOnes))
    for (const lane of lanes) if (lane.status === 'rejected') throw lane.reason
  } catch (error) {
    await release()
    throw error
  }
  return { taken, release }
}

/** The attachments, each with its position in the request. */
function placed({ attachments = [] }: { attachments?: readonly AttachmentInput[] | undefined }, before: string) {
  return attachments.map((one, i) => ({ one, field: `${before}attachments.${i}` }))
}

/** An attachment's errors are returned when the request runs, because a repeated request may already have a reply. */
function asRefusal(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  throw error
}

function receive(
  asked: AttachmentInput,
  field: string,
  within: { project_id: string; signal: AbortSignal },
  parts: ReceiveParts,
): Promise<Upload | ApiError> {
  if ('url' in asked) return fetchFile(asked.url, `${field}.url`, within, parts)
  if ('data' in asked) return decode(asked, field, within.project_id, parts)
  throw new Error("can't be a stored file")
}

async function decode(
  { data, media_type, name }: Extract<AttachmentInput, { data: string }>,
  field: string,
  project_id: string,
  { bytes, config }: ReceiveParts,
): Promise<Upload> {
  if (data.length % 4 !== 0 || !BASE64.test(data)) throw invalid({ field: `${field}.data`, error: 'must be base64' })
  const { maxBytes } = config.files
  const decoded = Buffer.from(data, 'base64')
  if (decoded.length === 0) throw invalid({ field: `${field}.data`, error: 'must not be empty' })
  if (decoded.length > maxBytes) throw fileTooLarge(maxBytes)
  const taken = await bytes.take(project_id, onePiece(decoded))
  return new Upload(taken, await mediaTypeOf(taken.head, media_type), name)
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
