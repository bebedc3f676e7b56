import { storable, TEXT_TYPE } from '../../lib/text/text.ts'
import { type OpenFile, readFirst, type ShownFile } from './attachment.ts'
import type { PdfTexts } from './pdf-text.ts'

/** The most characters of one file that are shown as text. */
const MOST_CHARACTERS = 400_000
const MOST_PDF_BYTES = 32 * 1024 * 1024

const PDF = 'application/pdf'
const SHELL_SCRIPT = 'application/x-sh'

/** A file as text, if it has any. `pages` is set for a scanned PDF, which has pages but no text. */
export type FileText = ShownFile | { as: 'scan'; pages: number }

/** `lane` is the lane of the run that needs the text. */
export async function textOfFile(file: OpenFile, lane: string, pdfs: PdfTexts): Promise<FileText> {
  if (file.media_type === PDF) return textOfPdf(file, lane, pdfs)
  if (!TEXT_TYPE.test(file.media_type) && file.media_type !== SHELL_SCRIPT) {
    return { as: 'omitted', note: `files of type ${file.media_type} can't be sent to a model` }
  }
  const bytes = await readFirst(file, MOST_CHARACTERS)
  // An incomplete character at the end isn't decoded.
  const text = storable(new TextDecoder().decode(bytes, { stream: true }))
  if (file.size <= MOST_CHARACTERS) return { as: 'text', text }
  return { as: 'text', text, note: `the first ${MOST_CHARACTERS} of ${file.size} bytes` }
}

async function textOfPdf(file: OpenFile, lane: string, pdfs: PdfTexts): Promise<FileText> {
  if (file.size > MOST_PDF_BYTES) return { as: 'omitted', note: `a PDF can be at most ${MOST_PDF_BYTES} bytes` }
  const source = { lane, sha256: file.sha256, bytes: () => readFirst(file, file.size) }
  const answer = await pdfs.read(source, MOST_CHARACTERS)
  if ('problem' in answer) return { as: 'omitted', note: `the PDF could not be read: ${answer.problem}` }
  const { text, pages, read } = answer
  if (text === '') return { as: 'scan', pages }
  const shown = storable(text.slice(0, MOST_CHARACTERS))
  if (read === pages && shown.length === text.length) return { as: 'text', text: shown }
  return { as: 'text', text: shown, note: `the beginning: ${read} of ${pages} pages` }
}
