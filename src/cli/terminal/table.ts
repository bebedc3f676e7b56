import { visibleLine } from '../../lib/text/visible.ts'

const GAP = 2
/** Columns with short words, such as a status, are at most this wide. They are never cut. */
const SHORT = 12
const NARROWEST = 8

export type Head = { title: string /** People copy it. It is cut last, and then in the middle. */; isCopied: boolean }

/**
 * The lines of a table, including its head. If `width` is given, the widest columns are shortened until the table fits.
 */
export function renderTable(head: Head[], rows: string[][], width?: number): string[] {
  const cells = [head.map(({ title }) => title), ...rows.map((row) => row.map(singleLine))]
  const widths = head.map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ''))))
  if (width) squeeze(widths, head, width)
  return cells.map((row) =>
    row
      .map((text, column) => fit(text, widths[column] ?? 0, head[column]?.isCopied))
      .join(' '.repeat(GAP))
      .trimEnd(),
  )
}

/**
 * Shortens the widest column among those to shorten next: first long texts, then what people copy, then texts again.
 */
function squeeze(widths: number[], head: Head[], width: number): void {
  const total = () => widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1))
  const isLong = widths.map((each) => each > SHORT)
  const shrink = (yields: (column: number) => boolean | undefined, narrowest: number) => {
    while (total() > width) {
      const yielding = widths.map((each, column) => (isLong[column] && yields(column) ? each : 0))
      const widest = Math.max(...yielding)
      if (widest <= narrowest) return
      widths[yielding.indexOf(widest)] = widest - 1
    }
  }
  shrink((column) => !head[column]?.isCopied, SHORT)
  shrink((column) => head[column]?.isCopied, SHORT)
  shrink((column) => !head[column]?.isCopied, NARROWEST)
}

function fit(text: string, width: number, inMiddle = false): string {
  const shown = displayWidth(text)
  if (shown <= width) return text + ' '.repeat(width - shown)
  const characters = [...graphemes(text)]
  let end = ''
  while (inMiddle && displayWidth(characters.at(-1) + end) <= width / 2) end = characters.pop() + end
  const room = width - displayWidth(end)
  let kept = ''
  while (characters.length > 0 && displayWidth(kept + characters[0]) < room) kept += characters.shift()
  return `${kept}…${end}${' '.repeat(Math.max(0, room - displayWidth(kept) - 1))}`
}

function singleLine(text: string): string {
  return visibleLine(text.replaceAll(/\s*\n\s*|\t/g, ' '))
}

const segmenter = new Intl.Segmenter()

function* graphemes(text: string): Iterable<string> {
  for (const { segment } of segmenter.segment(text)) yield segment
}

/** East Asian characters and emoji take two columns, even those that only a selector turns into emoji. */
function displayWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const grapheme of graphemes(text))
    width += /\p{Emoji_Presentation}|\u{fe0f}|\u{20e3}|[\u{20000}-\u{3fffd}]|[ᄀ-ᅟ⺀-꓏가-힣豈-﫿︰-﹏＀-｠￠-￦]/u.test(
      grapheme,
    )
      ? 2
      : 1
  return width
}
