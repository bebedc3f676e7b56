import type { Invoke } from './api.ts'
import type { fileMethods } from './files.ts'
import type { RequestOptions } from './request.ts'

type ApiAttachment = NonNullable<Invoke['attachments']>[number]

/** A message's file: a stored file, a URL to fetch, bytes in base64, or a file or bytes of your own. */
export type Attachable = ApiAttachment | Blob | Uint8Array<ArrayBuffer>

/** The service accepts no longer keys. */
const LONGEST_KEY = 255

type Uploads = Pick<ReturnType<typeof fileMethods>, 'create'>

/**
 * Uploads files that aren't stored yet, for the message's user, and refers to them by ID. Repeating a call with the
 * same idempotency key doesn't upload anything again.
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
  // One after the other, because large files would only slow each other down.
  for (const [i, one] of attachments.entries()) attached.push(isBytes(one) ? await upload(one, i) : one)
  return attached
}

/** Whether it must be uploaded. */
export function isBytes(one: Attachable): one is Blob | Uint8Array<ArrayBuffer> {
  return one instanceof Blob || one instanceof Uint8Array
}
