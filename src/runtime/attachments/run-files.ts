import { storable, TEXT_TYPE } from '../../lib/text/text.ts'
import { unlessAborted } from '../deadline.ts'
import type { Round } from '../models/model.ts'
import type { Model } from '../models/model-request.ts'
import type { Refusals } from '../models/refusing-models.ts'
import { AgentFailure } from '../outcome.ts'
import { shownTurns } from '../prompt/build-prompt.ts'
import type { ModelInput } from '../run-input.ts'
import {
  type Attachment,
  type FileOwner,
  type FileShelf,
  IMAGES,
  type OpenFile,
  readFirst,
  type ShownAttachment,
  type ShownFile,
} from './attachment.ts'
import type { PdfTexts } from './pdf-text.ts'
import { filesOf, withShownFiles } from './shown-input.ts'

const MOST_IMAGES = 20
const MOST_SCANNED_PAGES = 100
/** The limit for all texts of files in one prompt. */
const MOST_TEXT = 1_000_000

type Options = { whose: FileOwner; lane: string; shelf: Pick<FileShelf, 'find'>; pdfs: PdfTexts; vision: Refusals }

type NamedModel = Model & { name: string }

/** The files that a run shows to its models. Their texts are read once for all steps. */
export class RunFiles {
  readonly #options: Options
  readonly #texts = new Map<string, Promise<FileText>>()
  /** Files that were required and not used since. Their first use doesn't look them up again. */
  readonly #required = new Map<string, OpenFile>()
  /** Why images are not shown to a model in this run. */
  readonly #unseen = new Map<string, string>()

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Checks that all files of a message exist when its run begins. If a file is deleted later, only its name is shown.
   */
  async require(attachments: readonly Attachment[]): Promise<void> {
    for (const { file_id } of attachments) this.#required.set(file_id, await this.open(file_id))
  }

  /** Opens a file, which must exist. */
  async open(file_id: string): Promise<OpenFile> {
    const file = await this.find(file_id)
    if (!file) throw new AgentFailure(`The file ${file_id} no longer exists: it was deleted or has expired.`)
    return file
  }

  async find(file_id: string): Promise<OpenFile | undefined> {
    const { shelf, whose } = this.#options
    const required = this.#required.get(file_id)
    this.#required.delete(file_id)
    return required ?? shelf.find(whose, file_id)
  }

  /**
   * Records that the model has refused images. It is shown no more images in this run, and if `lasting`, in other runs
   * either.
   */
  refused(model: string, note: string, lasting: boolean): void {
    this.#unseen.set(model, note)
    if (lasting) this.#options.vision.refused(model)
  }

  /**
   * The input with what this model is shown of its files: the latest files first, while there is room. Rejects when the
   * signal aborts, because a PDF may wait for its turn and take long.
   */
  async show(model: NamedModel, input: ModelInput, rounds: readonly Round[], signal: AbortSignal): Promise<ModelInput> {
    const files = new Map<string, ShownFile>()
    const room = { images: MOST_IMAGES, bytes: model.images?.together ?? 0, text: MOST_TEXT }
    for (const attachment of latestFirst(input, rounds)) {
      if (files.has(attachment.file_id)) continue
      const shown = fitting(await unlessAborted(this.#showOne(model, attachment), signal), attachment, room)
      files.set(attachment.file_id, shown)
    }
    return withShownFiles(input, files)
  }

  async #showOne(model: NamedModel, attachment: Attachment): Promise<ShownFile> {
    const { file_id, media_type, size } = attachment
    if (IMAGES.has(media_type)) {
      const note = this.#blindness(model) ?? tooLarge(size, model)
      if (note !== undefined) return { as: 'omitted', note }
      return (await this.find(file_id)) ? { as: 'image' } : { as: 'omitted', note: 'the file no longer exists' }
    }
    const read = this.#texts.get(file_id) ?? this.#read(file_id)
    this.#texts.set(file_id, read)
    const text = await read
    return text.as === 'scan' ? this.#showScan(model, attachment, text.pages) : text
  }

  #showScan(model: NamedModel, { size }: Attachment, pages: number): ShownFile {
    if (!model.images?.documents) return { as: 'omitted', note: 'the PDF has no text' }
    const note = this.#blindness(model) ?? tooLarge(size, model)
    if (note !== undefined) return { as: 'omitted', note: `the PDF has no text, and ${note}` }
    if (pages > MOST_SCANNED_PAGES)
      return { as: 'omitted', note: `a PDF without text can have at most ${MOST_SCANNED_PAGES} pages` }
    return { as: 'image', pages, note: 'its pages are sent as images' }
  }

  #blindness({ name, images }: NamedModel): string | undefined {
    const here = this.#unseen.get(name)
    if (here !== undefined) return here
    const isBlind = !images || (images.isKnown !== true && !this.#options.vision.takes(name))
    return isBlind ? `${name} does not accept images` : undefined
  }

  async #read(file_id: string): Promise<FileText> {
    const file = await this.find(file_id)
    return file
      ? textOfFile(file, this.#options.lane, this.#options.pdfs)
      : { as: 'omitted', note: 'the file no longer exists' }
  }
}

/** What is shown of the message's own attachments. */
export function shownAttachments({ attachments = [], files }: ModelInput): ShownAttachment[] {
  return attachments.map((one) => {
    const shown = files?.get(one.file_id)
    return { ...one, shown_as: shown?.as ?? null, note: shown?.note ?? null }
  })
}

function latestFirst(input: ModelInput, rounds: readonly Round[]): Attachment[] {
  const turns = shownTurns(input).toReversed()
  return [
    ...(input.attachments ?? []),
    ...rounds.toReversed().flatMap(filesOf),
    ...turns.flatMap(({ attachments = [] }) => attachments),
  ]
}

function tooLarge(size: number, { images }: NamedModel): string | undefined {
  const most = images?.each ?? 0
  return size > most ? `it has ${size} bytes, and an image can have at most ${most}` : undefined
}

type Room = { images: number; bytes: number; text: number }

/** Files that aren't shown take no room. */
function fitting(shown: ShownFile, { size }: Attachment, room: Room): ShownFile {
  if (shown.as === 'text') {
    const { length } = shown.text
    if (length > room.text) return { as: 'omitted', note: 'the attachments contain too much text in total' }
    room.text -= length
  }
  if (shown.as === 'image') {
    if (room.images === 0 || size > room.bytes) return { as: 'omitted', note: 'there are too many images' }
    room.images -= 1
    room.bytes -= size
  }
  return shown
}

/** The most characters of one file that are shown as text. */
const MOST_CHARACTERS = 400_000
const MOST_PDF_BYTES = 32 * 1024 * 1024

const PDF = 'application/pdf'
const SHELL_SCRIPT = 'application/x-sh'

/** A file as text, if it has any. `pages` is set for a scanned PDF, which has pages but no text. */
type FileText = ShownFile | { as: 'scan'; pages: number }

/** `lane` is the lane of the run that needs the text. */
async function textOfFile(file: OpenFile, lane: string, pdfs: PdfTexts): Promise<FileText> {
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
