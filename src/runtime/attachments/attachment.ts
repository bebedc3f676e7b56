/** A file attached to a message. Rows, steps and prompts contain names and IDs, never its bytes. */
export type Attachment = { file_id: string; name: string; media_type: string; size: number }

/** A file as a caller sends it: a stored file, a URL to fetch, or its bytes in base64. */
export type AttachmentInput =
  | { file_id: string }
  | { url: string }
  | { data: string; media_type?: string | undefined; name?: string | undefined }

/** The image types that models accept. */
export const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

export type ShownAs = 'image' | 'text' | 'omitted'

/** What the model was shown of an attachment. The note says what it wasn't shown, and why. */
export type ShownAttachment = Attachment & { shown_as: ShownAs | null; note: string | null }

/** An attachment that no model has been shown yet. */
export function notShown(attachment: Attachment): ShownAttachment {
  return { ...attachment, shown_as: null, note: null }
}

/** How a file is shown to one model. `pages` is set for a document whose pages are shown as images. */
export type ShownFile =
  | { as: 'image'; pages?: number; note?: string }
  | { as: 'text'; text: string; note?: string }
  | { as: 'omitted'; note: string }

/** How each file is shown, by its ID. */
export type ShownFiles = ReadonlyMap<string, ShownFile>

/** What one message shows of its attachments: texts that come before the message, and images. */
export type MessageFiles = { texts: readonly string[]; images: readonly Attachment[] }

/** How many images the model is shown. */
export function pagesOf(shown: ShownFile | undefined): number {
  return shown?.as === 'image' ? (shown.pages ?? 1) : 1
}

/** A stored file that can be read, in part or completely. */
export type OpenFile = Attachment & {
  sha256: string
  read(range: { start: number; end: number }): AsyncIterable<Uint8Array>
}

export type FileOwner = { project_id: string; user_id: string | null }

/** The owner of a file that a run's tool returned. */
export type FileMaker = FileOwner & { agent_id: string; request_id: string; created_by: string }

/** A file that a tool returned in addition to text. The tool provides its type and name. */
export type ToolFile = {
  pieces: AsyncIterable<Uint8Array>
  media_type: string | undefined
  name: string
}

/** The service's files, as runs use them. */
export type FileShelf = {
  /**
   * Finds a file of a project that belongs to this user or to no user. Undefined if it doesn't exist or was deleted.
   */
  find(whose: FileOwner, file_id: string): Promise<OpenFile | undefined>
  /** Stores a tool's result as a file of the run's user. Throws FileNotKept. */
  keep(maker: FileMaker, file: ToolFile): Promise<Attachment>
}

/** A file that cannot be stored. The message is for the model. */
export class FileNotKept extends Error {}

/** Reads the first bytes of a file. */
export async function readFirst(file: Pick<OpenFile, 'size' | 'read'>, most: number): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  const end = Math.min(file.size, most) - 1
  for await (const piece of file.read({ start: 0, end })) pieces.push(piece)
  return Buffer.concat(pieces)
}
