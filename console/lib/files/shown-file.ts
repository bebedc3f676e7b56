import type { Invocation, InvocationAttachment } from '../../../sdk/client.ts'

/** What is shown of a file in every list. */
export type ShownFile = Pick<InvocationAttachment, 'file_id' | 'name' | 'media_type' | 'size'>

/** An attachment of a message. Once the model was asked, it also says how the model was shown the file. */
export type ShownAttachment = ShownFile & Partial<Pick<InvocationAttachment, 'shown_as' | 'note'>>

/** The files that a run's tools have made. */
export function filesMadeIn({ steps }: Invocation): ShownFile[] {
  return steps.flatMap((step) => ('files' in step ? (step.files ?? []) : []))
}

/** The part of a request that names the files of its message. */
export function attachedTo(files: readonly ShownFile[]): { attachments?: { file_id: string }[] } {
  return files.length === 0 ? {} : { attachments: files.map(({ file_id }) => ({ file_id })) }
}

const PICTURES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Whether the browser can show the file, because its type can't contain scripts. */
export function isPicture({ media_type }: Pick<ShownFile, 'media_type'>): boolean {
  return PICTURES.has(media_type)
}
