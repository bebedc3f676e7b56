import { visibleLine } from '../../lib/text/visible.ts'

const GAP = 2
const NARROWEST = 8

export type Head = { title: string /** Is never cut short: people copy it. */; whole: boolean }

/** The lines of a table, head first. If `width` is given, the widest columns are shortened until the table fits. */
export function renderTable(head: Head[], rows: string[][], width?: number): string[] {
  const cells = [head.map(({ title }) => title), ...rows.map((row) => row.map(singleLine))]
  const widths = head.map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ''))))
  if (width) squeeze(widths, head, width)
  return cells.map((row) =>
    row
      .map((text, column) => fit(text, widths[column] ?? 0))
      .join(' '.repeat(GAP))
      .trimEnd(),
  )
}

function squeeze(widths: number[], head: Head[], width: number): void {
  const total = () => widths.reduce((sum, each) => sum + each, GAP * (widths.length - 1))
  while (total() > width) {
    const yielding = widths.map((each, column) => (head[column]?.whole ? 0 : each))
    const widest = Math.max(...yielding)
    if (widest <= NARROWEST) return
    widths[yielding.indexOf(widest)] = widest - 1
  }
}

function fit(text: string, width: number): string {
  const shown = displayWidth(text)
  if (shown <= width) return text + ' '.repeat(width - shown)
  const characters = [...graphemes(text)]
  let kept = ''
  while (characters.length > 0 && displayWidth(kept + characters[0]) < width) kept += characters.shift()
  return `${kept}…${' '.repeat(Math.max(0, width - displayWidth(kept) - 1))}`
}

function singleLine(text: string): string {
  return visibleLine(text.replaceAll(/\s*\n\s*|\t/g, ' '))
}

const segmenter = new Intl.Segmenter()

function* graphemes(text: string): Iterable<string> {
  for (const { segment } of segmenter.segment(text)) yield segment
}

/** East Asian characters and emoji take two columns, also those that are shown as emoji only by a selector. */
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
