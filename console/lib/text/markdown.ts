/** A part of a text that is written in markdown, as models write it. Everything in it is plain text. */
export type Block =
  | { kind: 'paragraph' | 'heading'; text: string; level: number }
  | { kind: 'code'; text: string; language: string }
  | { kind: 'quote'; blocks: Block[] }
  | { kind: 'list'; start: number | undefined; items: Block[][] }
  | { kind: 'table'; head: string[]; rows: string[][] }
  | { kind: 'rule' }

/** Deeper lists and quotes are shown as they are written. */
const DEEPEST = 8

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*$/
const RULE = /^ {0,3}([-*_])(?: *\1){2,} *$/
const QUOTE = /^ {0,3}> ?(.*)$/
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?: +(.*)|$)/
/** Without the spaces around it. */
const DIVIDER = /^\|?(?: *:?-+:? *\|)+(?: *:?-+:?)?$/

export function blocksOf(text: string): Block[] {
  return readBlocks(text.replaceAll('\t', '    ').split(/\r?\n/), 0)
}

function readBlocks(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = []
  for (let i = 0; i < lines.length; ) {
    const [block, next] = readBlock(lines, i, depth)
    if (block) blocks.push(block)
    i = next
  }
  return blocks
}

type Read = [block: Block | undefined, next: number]

function readBlock(lines: readonly string[], i: number, depth: number): Read {
  const line = lines[i] as string
  if (line.trim() === '') return [undefined, i + 1]
  const heading = HEADING.exec(line)
  if (heading) return [{ kind: 'heading', level: heading[1]?.length ?? 1, text: heading[2] ?? '' }, i + 1]
  if (RULE.test(line)) return [{ kind: 'rule' }, i + 1]
  if (FENCE.test(line)) return readCode(lines, i)
  if (isTable(lines, i)) return readTable(lines, i)
  if (depth < DEEPEST && QUOTE.test(line)) return readQuote(lines, i, depth)
  if (depth < DEEPEST && ITEM.test(line)) return readList(lines, i, depth)
  let end = i + 1
  while (end < lines.length && !startsBlock(lines, end)) end += 1
  return [{ kind: 'paragraph', level: 0, text: lines.slice(i, end).join('\n') }, end]
}

function startsBlock(lines: readonly string[], i: number): boolean {
  const line = lines[i] as string
  if (line.trim() === '' || isTable(lines, i)) return true
  return [HEADING, RULE, FENCE, QUOTE, ITEM].some((start) => start.test(line))
}

/** Code that has no end yet goes on to the end of the text: the rest may still come. */
function readCode(lines: readonly string[], i: number): Read {
  const [, fence = '', language = ''] = FENCE.exec(lines[i] as string) ?? []
  const isEnd = (line: string) => line.trim().startsWith(fence) && line.trim().replaceAll(fence.charAt(0), '') === ''
  const length = lines.slice(i + 1).findIndex(isEnd)
  const end = length < 0 ? lines.length : i + 1 + length
  return [{ kind: 'code', language, text: lines.slice(i + 1, end).join('\n') }, end + 1]
}

function readQuote(lines: readonly string[], i: number, depth: number): Read {
  let end = i
  while (end < lines.length && QUOTE.test(lines[end] as string)) end += 1
  const inside = lines.slice(i, end).map((line) => QUOTE.exec(line)?.[1] ?? '')
  return [{ kind: 'quote', blocks: readBlocks(inside, depth + 1) }, end]
}

/** An item has the lines after it that are indented as far as its text is, and the lines that go on with its text. */
function readList(lines: readonly string[], i: number, depth: number): Read {
  const isOrdered = /\d/.test(ITEM.exec(lines[i] as string)?.[2] ?? '')
  const items: string[][] = []
  let end = i
  for (; end < lines.length; end += 1) {
    const line = lines[end] as string
    const item = ITEM.exec(line)
    const last = items.at(-1)
    if (item && isOrdered === /\d/.test(item[2] ?? '') && !RULE.test(line)) items.push([item[3] ?? ''])
    else if (last && (line.trim() === '' ? isGoingOn(lines, end) : line.startsWith('  '))) last.push(unindented(line))
    else if (last && lines[end - 1]?.trim() !== '' && !startsBlock(lines, end)) last.push(line)
    else break
  }
  const start = isOrdered ? Number.parseInt(lines[i]?.trim() ?? '1', 10) : undefined
  return [{ kind: 'list', start, items: items.map((item) => readBlocks(item, depth + 1)) }, end]
}

function isGoingOn(lines: readonly string[], i: number): boolean {
  const next = lines[i + 1] ?? ''
  return next.startsWith('  ') || ITEM.test(next)
}

function unindented(line: string): string {
  return line.replace(/^ {1,4}/, '')
}

function isTable(lines: readonly string[], i: number): boolean {
  return (lines[i] ?? '').includes('|') && DIVIDER.test((lines[i + 1] ?? '').trim())
}

function readTable(lines: readonly string[], i: number): Read {
  let end = i + 2
  while (end < lines.length && lines[end]?.includes('|')) end += 1
  const [head = [], ...rows] = [lines[i] as string, ...lines.slice(i + 2, end)].map(cellsOf)
  return [{ kind: 'table', head, rows: rows.map((row) => head.map((_, at) => row[at] ?? '')) }, end]
}

function cellsOf(line: string): string[] {
  const inside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}
