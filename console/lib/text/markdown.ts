/** A part of a markdown text as models write it. All text in it is plain. */
export type Block =
  | { kind: 'paragraph' | 'heading'; text: string; level: number }
  | { kind: 'code'; text: string; language: string }
  | { kind: 'quote'; blocks: Block[] }
  /** The marker that all items of the list share: `-`, or the `.` after a number. */
  | { kind: 'list'; marker: string; start: number | undefined; items: Block[][] }
  | { kind: 'table'; head: string[]; rows: string[][] }
  | { kind: 'rule' }

/** Lists and quotes that are nested deeper are shown as they were written. */
const DEEPEST = 8
/** A line that is indented this far is code, or continues a paragraph. */
const CODE_INDENT = 4
const TAB = 4

const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^\s`]*)[^`]*$/
const HEADING = /^ {0,3}(#{1,6})(?![^ \t])/
const UNDERLINE = /^ {0,3}(?:(={2,})|-{2,})[ \t]*$/
const RULE = /^ {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$/
const QUOTE = /^ {0,3}>/
const ITEM = /^ {0,3}(?:[-*+]|(\d{1,9})[.)])(?![^ \t])/
/** Matches the line below a table's head, without surrounding spaces. */
const DIVIDER = /^\|?(?: *:?-+:? *\|)+(?: *:?-+:?)?$/

/** A quote, or an item with the column at which its text begins. The first container is the text itself. */
type Container = { blocks: Block[]; column?: number }

/** The block to which the next lines are added. */
type Leaf =
  | { kind: 'paragraph' | 'table' | 'indented'; lines: string[] }
  | { kind: 'fenced'; lines: string[]; fence: string; indent: number; language: string }

export function blocksOf(text: string): Block[] {
  const reader = new BlockReader()
  for (const line of text.replace(/\r?\n$/, '').split(/\r?\n/)) reader.read(line)
  return reader.end()
}

/** Reads the lines once, as CommonMark does: first what a line continues, then what it begins. */
class BlockReader {
  readonly #text: Container = { blocks: [] }
  #open: Container[] = [this.#text]
  #leaf: Leaf | undefined

  read(line: string): void {
    let [rest, depth] = this.#continued(line)
    if (depth === this.#open.length && this.#isCode(rest)) return
    while (this.#open.length <= DEEPEST && indentOf(rest) < CODE_INDENT) {
      const inner = this.#beginContainer(rest, depth)
      if (inner === undefined) break
      rest = inner
      depth = this.#open.length
    }
    if (!this.#beginLeaf(rest, depth)) this.#addText(rest, depth)
  }

  /** Closes all blocks. A block that has no end yet goes to the end of the text, because the rest may still arrive. */
  end(): Block[] {
    this.#close(1)
    return this.#text.blocks
  }

  /** How many of the open containers the line continues, and the rest of the line inside them. */
  #continued(line: string): [rest: string, depth: number] {
    let rest = line
    let depth = 1
    for (const { column, blocks } of this.#open.slice(1)) {
      if (column === undefined) {
        if (!QUOTE.test(rest)) break
        rest = withoutQuote(rest)
      } else if (rest.trim() === '') {
        // An item that begins with an empty line has its text on the next line.
        if (blocks.length === 0 && !this.#leaf) break
      } else if (indentOf(rest) >= column) rest = unindented(rest, column)
      else break
      depth += 1
    }
    return [rest, depth]
  }

  /** Whether the line belongs to the open code block. Code keeps its tabs and its indentation. */
  #isCode(rest: string): boolean {
    const leaf = this.#leaf
    if (leaf?.kind === 'fenced') {
      const [, , fence = '', language] = FENCE.exec(rest) ?? []
      if (fence.startsWith(leaf.fence) && !language) this.#closeLeaf()
      else leaf.lines.push(unindented(rest, leaf.indent))
      return true
    }
    if (leaf?.kind !== 'indented' || (rest.trim() !== '' && indentOf(rest) < CODE_INDENT)) return false
    leaf.lines.push(unindented(rest, CODE_INDENT))
    return true
  }

  /** Begins a quote or an item, and returns the rest of the line inside it. */
  #beginContainer(rest: string, depth: number): string | undefined {
    if (QUOTE.test(rest)) {
      const quote = { kind: 'quote' as const, blocks: [] }
      this.#add(quote, depth)
      this.#open.push({ blocks: quote.blocks })
      return withoutQuote(rest)
    }
    const [marked, number] = ITEM.exec(rest) ?? []
    if (marked === undefined || RULE.test(rest)) return undefined
    const isEmpty = rest.slice(marked.length).trim() === ''
    // Only these interrupt a paragraph. `1999. It was good` may just be the paragraph's next line.
    if (this.#isParagraph(depth) && (isEmpty || (number !== undefined && Number(number) !== 1))) return undefined
    const inner = ' '.repeat(marked.length) + rest.slice(marked.length)
    const column = indentOf(inner)
    const isFar = isEmpty || column - marked.length > CODE_INDENT
    const item = { blocks: [], column: isFar ? marked.length + 1 : column }
    this.#addItem(item.blocks, marked.slice(-1), number === undefined ? undefined : Number(number), depth)
    this.#open.push(item)
    return unindented(inner, item.column)
  }

  #addItem(item: Block[], marker: string, start: number | undefined, depth: number): void {
    this.#close(depth)
    const last = this.#open.at(-1)?.blocks.at(-1)
    if (last?.kind === 'list' && last.marker === marker) last.items.push(item)
    else this.#add({ kind: 'list', marker, start, items: [item] }, depth)
  }

  /** Begins or changes a block that contains no other blocks. */
  #beginLeaf(rest: string, depth: number): boolean {
    const isFar = indentOf(rest) >= CODE_INDENT
    if (isFar) {
      if (this.#leaf?.kind === 'paragraph' || rest.trim() === '') return false
      this.#close(depth)
      this.#leaf = { kind: 'indented', lines: [unindented(rest, CODE_INDENT)] }
      return true
    }
    if (this.#isParagraph(depth) && this.#endParagraph(rest)) return true
    const heading = HEADING.exec(rest)
    const fenced = FENCE.exec(rest)
    if (heading) {
      const text = rest.slice(heading[0].length).trim()
      this.#add(
        { kind: 'heading', level: heading[1]?.length ?? 1, text: text.replace(/(^|[ \t])#+$/, '').trim() },
        depth,
      )
    } else if (fenced) {
      const [, indent = '', fence = '', language = ''] = fenced
      this.#close(depth)
      this.#leaf = { kind: 'fenced', lines: [], fence, indent: indent.length, language }
    } else if (RULE.test(rest)) this.#add({ kind: 'rule' }, depth)
    else return false
    return true
  }

  /** The line below a paragraph may turn it into a heading, or turn its last line into the head of a table. */
  #endParagraph(rest: string): boolean {
    const lines = this.#leaf?.lines ?? []
    const underline = UNDERLINE.exec(rest)
    if (underline) {
      this.#leaf = undefined
      this.#add({ kind: 'heading', level: underline[1] ? 1 : 2, text: textOf(lines) }, this.#open.length)
      return true
    }
    const head = lines.at(-1) ?? ''
    if (!head.includes('|') || !DIVIDER.test(rest.trim())) return false
    lines.pop()
    this.#closeLeaf()
    this.#leaf = { kind: 'table', lines: [head] }
    return true
  }

  /** A line of text may continue a paragraph inside containers for which it has no markers. */
  #addText(rest: string, depth: number): void {
    const text = rest.trim()
    if (this.#leaf?.kind === 'paragraph' && text !== '') return void this.#leaf.lines.push(text)
    this.#close(depth, text !== '' && this.#leaf?.kind === 'table' && text.includes('|'))
    if (this.#leaf) this.#leaf.lines.push(text)
    else if (text !== '') this.#leaf = { kind: 'paragraph', lines: [text] }
  }

  /** Whether a paragraph is open in the innermost container that the line continues. */
  #isParagraph(depth: number): boolean {
    return this.#leaf?.kind === 'paragraph' && depth === this.#open.length
  }

  #add(block: Block, depth: number): void {
    this.#close(depth)
    this.#open.at(-1)?.blocks.push(block)
  }

  /** Closes the containers that the line doesn't continue, and the open block. */
  #close(depth: number, isLeafKept = false): void {
    if (!isLeafKept || depth < this.#open.length) this.#closeLeaf()
    this.#open = this.#open.slice(0, depth)
  }

  #closeLeaf(): void {
    const leaf = this.#leaf
    this.#leaf = undefined
    if (leaf && leaf.lines.length + Number(leaf.kind === 'fenced') > 0) this.#open.at(-1)?.blocks.push(blockOf(leaf))
  }
}

function blockOf(leaf: Leaf): Block {
  const { kind, lines } = leaf
  if (kind === 'paragraph') return { kind, level: 0, text: textOf(lines) }
  if (kind === 'fenced') return { kind: 'code', language: leaf.language, text: lines.join('\n') }
  if (kind === 'indented') {
    const end = lines.findLastIndex((line) => line.trim() !== '') + 1
    return { kind: 'code', language: '', text: lines.slice(0, end).join('\n') }
  }
  const [head = [], ...rows] = lines.map(cellsOf)
  return { kind, head, rows: rows.map((row) => head.map((_, at) => row[at] ?? '')) }
}

/** Joins lines, keeping the line breaks. A backslash at the end of a line marks a line break and is removed. */
function textOf(lines: readonly string[]): string {
  return lines.map((line, i) => (i < lines.length - 1 && line.endsWith('\\') ? line.slice(0, -1) : line)).join('\n')
}

function withoutQuote(rest: string): string {
  const [mark = ''] = QUOTE.exec(rest) ?? []
  return unindented(' '.repeat(mark.length) + rest.slice(mark.length), mark.length + 1)
}

/** The column at which a line's text begins. A tab goes to the next column that is a multiple of four. */
function indentOf(line: string): number {
  let column = 0
  for (const letter of line) {
    if (letter === ' ') column += 1
    else if (letter === '\t') column += TAB - (column % TAB)
    else break
  }
  return column
}

/**
 * Removes this many columns of indentation, if the line has them. If a tab goes further, its rest is kept as spaces.
 */
function unindented(line: string, columns: number): string {
  let column = 0
  let at = 0
  for (; column < columns && (line[at] === ' ' || line[at] === '\t'); at += 1) {
    column += line[at] === '\t' ? TAB - (column % TAB) : 1
  }
  return ' '.repeat(Math.max(0, column - columns)) + line.slice(at)
}

function cellsOf(line: string): string[] {
  const inside = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return inside.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
}
