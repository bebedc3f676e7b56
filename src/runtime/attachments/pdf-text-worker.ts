import { parentPort, workerData } from 'node:worker_threads'
import { getDocumentProxy } from 'unpdf'

export type PdfRequest = { bytes: Uint8Array; most_characters: number; most_pages: number; most_ms: number }

/** `pages` is the number of pages in the document, and `read` the number of pages that were read. */
export type PdfAnswer = { text: string; pages: number; read: number } | { problem: string }

if (parentPort) parentPort.postMessage(await answer(workerData as PdfRequest))

async function answer({ bytes, most_characters, most_pages, most_ms }: PdfRequest): Promise<PdfAnswer> {
  try {
    const pdf = await getDocumentProxy(bytes, { verbosity: 0 })
    const texts: string[] = []
    const last = Math.min(pdf.numPages, most_pages)
    const until = performance.now() + most_ms
    let characters = 0
    while (texts.length < last && characters < most_characters && performance.now() < until) {
      const { items } = await (await pdf.getPage(texts.length + 1)).getTextContent()
      const page = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('')
      characters += page.length
      texts.push(page.trim())
    }
    const text = texts.filter((page) => page !== '').join('\n\n')
    return { text, pages: pdf.numPages, read: texts.length }
  } catch (error) {
    const isLocked = (error as Error).name === 'PasswordException'
    return { problem: isLocked ? 'it is password-protected' : 'it is not a PDF that can be read' }
  }
}
