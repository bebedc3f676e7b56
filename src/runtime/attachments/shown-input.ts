import { cutToBytes } from '../../lib/text/text.ts'
import type { GivenTurn } from '../given.ts'
import type { Round } from '../models/model.ts'
import type { ToolResult } from '../outcome.ts'
import type { ModelInput } from '../run-input.ts'
import type { Attachment, MessageFiles, ShownFile, ShownFiles } from './attachment.ts'

const GONE: ShownFile = { as: 'omitted', note: 'the file no longer exists' }
const SHORTEST_BYTES = 256
const CUT_MARK = ' […]'

/** Inserts what is shown of the files where they were attached: into the message, and into earlier turns. */
export function withShownFiles(input: ModelInput, files: ShownFiles): ModelInput {
  const { attachments = [], history } = input
  return {
    ...input,
    files,
    history: history.map((turn) => withTexts(turn, files)),
    ...(attachments.length > 0 && { shown: shownWith(attachments, files) }),
  }
}

function withTexts(turn: GivenTurn, files: ShownFiles): GivenTurn {
  if (!turn.attachments?.length) return turn
  const { texts, images } = shownWith(turn.attachments, files)
  return { ...turn, content: [...texts, turn.content].filter((text) => text !== '').join('\n\n'), images }
}

export function shownWith(attachments: readonly Attachment[], files: ShownFiles): MessageFiles {
  const isImage = ({ file_id }: Attachment) => files.get(file_id)?.as === 'image'
  return {
    texts: attachments.filter((one) => !isImage(one)).map((one) => quoted(one, files.get(one.file_id) ?? GONE)),
    images: attachments.filter(isImage),
  }
}

/** A tool's result as the model is shown it: its text, the texts of its files, and images. */
export function shownResult(
  result: ToolResult | null | undefined,
  { files = new Map() }: Pick<ModelInput, 'files'>,
): { text: string; images: readonly Attachment[]; isError: boolean } {
  if (!result) return { text: 'No result', images: [], isError: true }
  if ('error' in result) return { text: result.error, images: [], isError: true }
  if (!result.files) return { text: result.result, images: [], isError: false }
  const { texts, images } = shownWith(result.files, files)
  return { text: [result.result, ...texts].join('\n\n'), images, isError: false }
}

export function filesOf({ results }: Round): readonly Attachment[] {
  return results.flatMap((result) => (result && 'files' in result && result.files) || [])
}

/** JSON keeps the text and its file's name on one line. Without `<`, the text can't close the block around it. */
function quoted({ name, media_type }: Attachment, shown: ShownFile): string {
  const { note } = shown
  const what = shown.as === 'text' ? { ...(note && { note }), text: shown.text } : { not_shown: note ?? '' }
  const told = JSON.stringify({ name, media_type, ...what }).replaceAll('<', '\\u003c')
  return `<attachment>\n${told}\n</attachment>`
}

/**
 * Cuts the texts of files to this many bytes in total. The shortest texts are kept whole, so a long one doesn't push
 * them out.
 */
export function cutTexts(attachments: readonly Attachment[], files: ShownFiles, most_bytes: number): ShownFiles {
  const cut = new Map(files)
  let left = most_bytes
  const texts = [...new Set(attachments.map(({ file_id }) => file_id))].flatMap((file_id) => {
    const shown = files.get(file_id)
    return shown?.as === 'text' ? { file_id, shown, size: Buffer.byteLength(shown.text) } : []
  })
  for (const { file_id, shown, size } of texts.toSorted((a, b) => a.size - b.size)) {
    if (size > left) cut.set(file_id, cutShown(shown, left, size))
    left = Math.max(0, left - size)
  }
  return cut
}

/** The total length of the files' texts. */
export function bytesOfTexts(attachments: readonly Attachment[], files: ShownFiles): number {
  return attachments.reduce((bytes, { file_id }) => {
    const shown = files.get(file_id)
    return shown?.as === 'text' ? bytes + Buffer.byteLength(shown.text) : bytes
  }, 0)
}

function cutShown({ text, note }: Extract<ShownFile, { as: 'text' }>, bytes: number, size: number): ShownFile {
  const why = "the rest does not fit in the model's context window"
  if (bytes < SHORTEST_BYTES) return { as: 'omitted', note: "it does not fit in the model's context window" }
  const told = `the first ${bytes} of ${size} bytes of its text: ${why}`
  return { as: 'text', text: cutToBytes(text, bytes) + CUT_MARK, note: note ? `${note}; ${told}` : told }
}
