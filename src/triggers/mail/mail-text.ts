/** Longer HTML isn't read: mail programs cut such messages too. */
const MOST_HTML = 1_000_000

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
const BREAKS = /^\/?(?:address|article|blockquote|br|dd|div|dl|dt|h[1-6]|hr|li|ol|p|pre|section|table|tr|ul)$/
/** Elements whose content isn't text. */
const HIDDEN = new Set(['head', 'script', 'style', 'template', 'title'])

/** The text of a message that has only HTML. Every character is looked at once. */
export function textOfHtml(html: string): string {
  const source = html.slice(0, MOST_HTML)
  const pieces: string[] = []
  let hidden: string | undefined
  let quotedFrom: number | undefined
  let at = 0
  while (at < source.length) {
    const open = source.indexOf('<', at)
    const end = open < 0 ? source.length : open
    if (!hidden && end > at) pieces.push(source.slice(at, end).replace(/\s+/g, ' '))
    if (open < 0) break
    const isComment = source.startsWith('<!--', open)
    const close = source.indexOf(isComment ? '-->' : '>', open)
    if (close < 0) break
    at = close + (isComment ? 3 : 1)
    if (isComment) continue
    const name = /^\/?[a-z][a-z0-9]{0,20}/.exec(source.slice(open + 1, open + 24).toLowerCase())?.[0] ?? ''
    if (hidden) {
      if (name === `/${hidden}`) hidden = undefined
    } else if (HIDDEN.has(name)) hidden = name
    else if (isQuote(source.slice(open, Math.min(close, open + 200)))) quotedFrom ??= pieces.length
    else if (name === 'li') pieces.push('\n- ')
    else if (BREAKS.test(name)) pieces.push('\n')
  }
  // What a mail program quotes is at the end. A message that contains nothing else was forwarded.
  return plainText(pieces.slice(0, quotedFrom)) || plainText(pieces)
}

function plainText(pieces: readonly string[]): string {
  return pieces
    .join('')
    .replace(/&(#x?)?([0-9a-z]{1,8});/gi, readEntity)
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function isQuote(tag: string): boolean {
  return /\b(?:gmail_quote|yahoo_quoted|moz-cite-prefix|divRplyFwdMsg|appendonsend)\b|\btype="?cite\b/.test(tag)
}

function readEntity(whole: string, number: string | undefined, name: string): string {
  if (number === undefined) return ENTITIES[name.toLowerCase()] ?? whole
  const code = number.length > 1 ? Number.parseInt(name, 16) : Number(name)
  return code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff) ? String.fromCodePoint(code) : whole
}

/** Lines with which mail programs introduce what they quote. */
const INTRODUCTIONS = [
  /^-{2,}\s*(?:original message|ursprüngliche nachricht|message d'origine|mensaje original)\s*-{2,}$/i,
  /^_{20,}$/,
  /^(?:on|am|le|el|il|op|den)\s.{4,200}\s(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|skrev)\b.{0,100}:$/i,
]
const HEADER_LINE = /^\*?(?:from|von|de|sent|gesendet|to|an|subject|betreff)\*?\s?:/i

/**
 * What a person wrote in a reply. Removes quoted lines, what introduces them, and everything that a mail program adds
 * below. Answers between quoted lines stay. A message that contains nothing else was forwarded, so it stays whole.
 */
export function withoutQuotes(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const kept: string[] = []
  for (const [i, line] of lines.entries()) {
    const plain = line.trim()
    if (endsHere(plain, lines[i + 1]?.trim() ?? '')) break
    // The introduction can be on two lines.
    const twoLines = `${plain} ${lines[i + 1]?.trim() ?? ''}`
    const isBeforeQuote = (lines[i + 1] ?? '').trim().endsWith(':') && twoLines.length < 400
    if (isBeforeQuote && INTRODUCTIONS[2]?.test(twoLines)) break
    if (!plain.startsWith('>')) kept.push(line.trimEnd())
  }
  return trimmed(kept) || trimmed(lines)
}

function trimmed(lines: readonly string[]): string {
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

function endsHere(line: string, next: string): boolean {
  if (line.length > 400) return false
  // The signature begins with this line.
  if (line === '--') return true
  return INTRODUCTIONS.some((pattern) => pattern.test(line)) || (HEADER_LINE.test(line) && HEADER_LINE.test(next))
}
