import type { Invoke } from './api.ts'
import type { fileMethods } from './files.ts'
import type { RequestOptions } from './request.ts'

type ApiAttachment = NonNullable<Invoke['attachments']>[number]

/** A file of a message: one that is stored, one to be fetched, bytes in base64, or a file or bytes of your own. */
export type Attachable = ApiAttachment | Blob | Uint8Array<ArrayBuffer>

/** The service takes no longer ones. */
const LONGEST_KEY = 255

type Uploads = Pick<ReturnType<typeof fileMethods>, 'create'>

/**
 * Uploads what is not stored yet, for the user of the message, and names it by its id. A call that is repeated with the
 * same idempotency key uploads nothing a second time.
 */
export async function attach(
  { create }: Uploads,
  attachments: readonly Attachable[],
  user_id: string | undefined,
  { signal, idempotencyKey }: RequestOptions,
): Promise<ApiAttachment[]> {
  const upload = async (content: Blob | Uint8Array<ArrayBuffer>, position: number): Promise<ApiAttachment> => {
    const once = idempotencyKey === undefined ? undefined : `${position}:${idempotencyKey}`.slice(0, LONGEST_KEY)
    const file = await create(content, { user_id }, { signal, idempotencyKey: once })
    return { file_id: file.id }
  }
  const attached: ApiAttachment[] = []
  // One after the other: large files would only slow each other down.
  for (const [i, one] of attachments.entries()) attached.push(isBytes(one) ? await upload(one, i) : one)
  return attached
}

/** Whether it has to be uploaded. */
export function isBytes(one: Attachable): one is Blob | Uint8Array<ArrayBuffer> {
  return one instanceof Blob || one instanceof Uint8Array
}
