import { createHash } from 'node:crypto'
import { parentPort } from 'node:worker_threads'
import PostalMime, { type Attachment, addressParser, type Email } from 'postal-mime'
import { isObject } from '../../lib/json.ts'
import { MEDIA_TYPE, storable } from '../../lib/text/text.ts'
import { ADDRESS, type Mail, type MailFile, type ReadMail } from './mail.ts'
import { textOfHtml, withoutQuotes } from './mail-text.ts'

export type MailRequest = { type: string; bytes: Uint8Array; most_files: number; most_file_bytes: number }

export type MailAnswer = ReadMail | { problem: string }

/** Fields in which providers send the whole message. */
const RAW_FIELDS = ['raw', 'RawEmail', 'email', 'body-mime']
const MOST_HEADERS = 100
const LONGEST_HEADER = 1_000
/** The longest text of a message to an agent, less some room for its subject. */
const MOST_TEXT = 90_000
const MOST_REFERENCES = 50
const MOST_ADDRESSES = 50
const MOST_RESULTS = 10
const LONGEST_NAME = 200
/** A message can have this number of short lines. All further lines must have this average length. */
const FREE_LINES = 20_000
const SHORTEST_LINE = 40
const MESSAGE_ID = /<[\x21-\x3b\x3d\x3f-\x7e]{1,250}>/g
const QUOTED = /"(?:[^"\\]|\\.)*"/g
const COMMENT = /\([^()<>@"]*\)/g
/** One address: in brackets behind a name, or alone. */
const AUTHOR = /^(?:[^<>()]*<\s*([^<>()"\s]+)\s*>|\s*([^<>()"\s]+))\s*$/
const LIMITS = { maxNestingDepth: 20, maxHeadersSize: 256 * 1024, forceRfc822Attachments: true } as const
/** Signatures, which say nothing to an agent. */
const SIGNATURE = /^application\/(?:pgp-signature|(?:x-)?pkcs7-signature)$/

const NO_MESSAGE = 'Send the whole message as message/rfc822, or in the field raw, RawEmail, email or body-mime.'

if (parentPort) {
  const port = parentPort
  port.on('message', async (request: MailRequest) => {
    const reply = await answer(request)
    port.postMessage(reply, 'files' in reply ? reply.files.map(({ content }) => content.buffer) : [])
  })
}

async function answer(request: MailRequest): Promise<MailAnswer> {
  const raw = await rawOf(request).catch(() => undefined)
  if (raw === undefined) return { problem: NO_MESSAGE }
  if (hasTooManyLines(raw)) return { problem: 'The message has too many lines.' }
  try {
    const email = await PostalMime.parse(raw, LIMITS)
    return read(email, createHash('sha256').update(raw).digest('hex'), request)
  } catch {
    return { problem: 'The message is not mail that can be read.' }
  }
}

/** Each line takes time, so a message of line breaks would take minutes. */
function hasTooManyLines(raw: Uint8Array): boolean {
  let rest = FREE_LINES + raw.length / SHORTEST_LINE
  for (let at = raw.indexOf(10); at >= 0 && rest > 0; at = raw.indexOf(10, at + 1)) rest--
  return rest <= 0
}

async function rawOf({ type, bytes }: MailRequest): Promise<Uint8Array | undefined> {
  const name = type.split(';')[0]?.trim().toLowerCase() ?? ''
  if (name === 'message/rfc822') return bytes
  const text = () => new TextDecoder().decode(bytes)
  const found = RAW_FIELDS.map(await fieldsOf(name, type, bytes, text)).find((value) => value !== undefined)
  return found === undefined ? undefined : new TextEncoder().encode(found)
}

async function fieldsOf(name: string, type: string, bytes: Uint8Array, text: () => string) {
  const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
  if (name === 'multipart/form-data' || name === 'application/x-www-form-urlencoded') {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'Content-Type': type } }).formData()
    return (field: string) => textIn(form.get(field))
  }
  const body: unknown = JSON.parse(text())
  return (field: string) => (isObject(body) ? textIn(body[field]) : undefined)
}

function read(email: Email, sha256: string, { most_files, most_file_bytes }: MailRequest): ReadMail {
  const all = email.attachments.filter(({ mimeType }) => !SIGNATURE.test(mimeType)).map(fileOf)
  const fits = all.filter(({ content }) => content.length > 0 && content.length <= most_file_bytes)
  const files = fits.slice(0, most_files)
  const leftOut = all.filter((file) => !files.includes(file)).slice(0, most_files)
  const headers: Record<string, string> = Object.create(null)
  for (const { key, value } of email.headers.slice(0, MOST_HEADERS)) {
    headers[line(key, 100)] ??= line(value, LONGEST_HEADER)
  }
  const valuesOf = (name: string) => email.headers.filter(({ key }) => key === name).map(({ value }) => value)
  const references = [...new Set([...idsIn(email.references), ...idsIn(email.inReplyTo)])]
  const mail: Mail = {
    from: authorOf(valuesOf('from')),
    to: (email.to ?? [])
      .flatMap(({ address }) => (address ? line(address, LONGEST_NAME) : []))
      .slice(0, MOST_ADDRESSES),
    subject: line(email.subject ?? '', LONGEST_HEADER),
    text: textOf(email, leftOut),
    message_id: idsIn(email.messageId)[0] ?? '',
    // The first one names the thread.
    references: [...references.slice(0, 1), ...references.slice(1).slice(-MOST_REFERENCES)],
    authentication_results: valuesOf('authentication-results')
      .slice(0, MOST_RESULTS)
      .map((value) => line(value, 4 * LONGEST_HEADER)),
    headers,
    attachments: files.map(({ name, media_type, content }) => ({ name, media_type, size: content.length })),
    sha256,
  }
  return { mail, files }
}

/**
 * The author. With several, or with an address that is only part of a name, it isn't clear who has written: mail servers
 * could have proven another address than the one that is found here.
 */
function authorOf(values: readonly string[]): Mail['from'] {
  const [value] = values
  if (value === undefined || values.length > 1) return null
  const [author, ...others] = addressParser(value)
  if (!author || others.length > 0 || author.group || !ADDRESS.test(author.address)) return null
  const [, bracketed, bare] = AUTHOR.exec(value.replaceAll(QUOTED, '""').replaceAll(COMMENT, '')) ?? []
  if (author.address !== (bracketed ?? bare)) return null
  return { address: author.address.toLowerCase(), name: line(author.name, LONGEST_NAME) }
}

function textOf({ text, html }: Email, leftOut: readonly MailFile[]): string {
  const written = withoutQuotes(storable(text?.trim() ? text : textOfHtml(html ?? ''))).slice(0, MOST_TEXT)
  const names = leftOut.map(({ name }) => name).join(', ')
  return names === '' ? written : `${written}\n\n[Left out, because they are too large or too many: ${names}]`.trim()
}

function fileOf({ filename, mimeType, content }: Attachment): MailFile {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : new Uint8Array(content)
  const name = line(filename ?? '', LONGEST_NAME).replaceAll(/[/\\\u2028-\u202e\u2066-\u2069]/g, '_')
  return {
    name: /^\.{0,2}$/.test(name) ? 'attachment' : name,
    media_type: MEDIA_TYPE.test(mimeType) ? mimeType : 'application/octet-stream',
    content: bytes,
  }
}

function idsIn(text: string | undefined): string[] {
  return text?.slice(0, 100_000).match(MESSAGE_ID) ?? []
}

/** One line of text. Encoded words can contain line breaks, which must not become headers of an answer. */
function line(text: string, most: number): string {
  return storable(text)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, most)
    .toWellFormed()
}
