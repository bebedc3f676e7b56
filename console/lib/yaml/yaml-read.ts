import { FlowReader, isClosed } from './flow-reader.ts'
import { plainValue, quotedValue, uncommented, YamlError } from './yaml-scalar.ts'

/** `whole` is the line as it is written, `text` is what it says. */
type Line = { indent: number; text: string; number: number; whole: string }

/** What a text says, and in which line each of its values stands: `tools.0.url` → 12. */
export type ReadYaml = { value: unknown; lines: Map<string, number> }

/**
 * Reads YAML as definitions are written in it: maps and lists, texts plain, quoted or in blocks, values in brackets. It
 * knows no anchors, aliases and tags, and says so. Throws YamlError.
 */
export function readYaml(text: string): ReadYaml {
  const reader = new BlockReader(text)
  return { value: reader.readAll(), lines: reader.lines }
}

const KEY = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'#[\]{},&*!|>%@`?-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+(.*))?$/

class BlockReader {
  readonly lines = new Map<string, number>()
  readonly #source: Line[]
  #at = 0

  constructor(text: string) {
    this.#source = text.split(/\r?\n/).map((line, index) => {
      const indent = line.search(/[^ ]|$/)
      if (line[indent] === '\t' && line.trim()) throw new YamlError(index + 1, 'Use spaces, not tabs, to indent')
      return { indent, text: line.slice(indent).trimEnd(), number: index + 1, whole: line }
    })
    if (this.#source[0]?.text === '---') this.#at = 1
  }

  readAll(): unknown {
    const value = this.#block(0, '')
    const rest = this.#peek()
    if (rest) throw new YamlError(rest.number, 'This line is not indented as the lines before it are')
    return value
  }

  /** The next line that says something. */
  #peek(): Line | undefined {
    while (this.#at < this.#source.length && /^(#|$)/.test(this.#source[this.#at]?.text ?? '')) this.#at++
    return this.#source[this.#at]
  }

  #block(least: number, path: string): unknown {
    const line = this.#peek()
    if (!line || line.indent < least) return null
    if (/^-(\s|$)/.test(line.text)) return this.#list(line.indent, path)
    if (KEY.test(line.text)) return this.#map(line.indent, path)
    this.#at++
    return this.#inline(line.text, line, least - 1)
  }

  #list(indent: number, path: string): unknown[] {
    const items: unknown[] = []
    for (let line = this.#peek(); line?.indent === indent && /^-(\s|$)/.test(line.text); line = this.#peek()) {
      const inside = `${path}${items.length}`
      this.lines.set(inside, line.number)
      const rest = line.text.slice(1).trimStart()
      const shift = line.text.length - rest.length
      if (!rest || rest.startsWith('#')) {
        this.#at++
        items.push(this.#block(indent + 1, `${inside}.`))
      } else if (/^[|>]/.test(rest)) {
        this.#at++
        items.push(this.#blockText(rest, indent))
      } else {
        // What stands behind the dash is read as a line of its own, so far to the right.
        this.#source[this.#at] = { ...line, indent: indent + shift, text: rest }
        items.push(this.#block(indent + 1, `${inside}.`))
      }
    }
    return items
  }

  #map(indent: number, path: string): Record<string, unknown> {
    const entries = new Map<string, unknown>()
    for (let line = this.#peek(); line?.indent === indent; line = this.#peek()) {
      const [, written, rest = ''] = KEY.exec(line.text) ?? []
      if (written === undefined) throw new YamlError(line.number, 'A name and a colon are missing here')
      const key = /^["']/.test(written) ? (quotedValue(written, 0)?.value ?? written) : written
      if (entries.has(key)) throw new YamlError(line.number, `${key} is here twice`)
      this.lines.set(path + key, line.number)
      this.#at++
      entries.set(key, this.#valueOf(rest, line, `${path}${key}.`))
    }
    const next = this.#peek()
    if (next && next.indent > indent) throw new YamlError(next.number, 'This line is indented too far')
    return Object.fromEntries(entries)
  }

  #valueOf(rest: string, line: Line, path: string): unknown {
    if (/^[|>]/.test(rest)) return this.#blockText(rest, line.indent)
    if (rest && !rest.startsWith('#')) return this.#inline(rest, line, line.indent)
    const next = this.#peek()
    // A list may stand as far to the left as the name that it belongs to.
    const isFlush = next?.indent === line.indent && /^-(\s|$)/.test(next.text)
    return this.#block(isFlush ? line.indent : line.indent + 1, path)
  }

  /** A value that begins in the line of its name, and may go on in the lines below that are indented further. */
  #inline(start: string, { number }: Line, outer: number): unknown {
    const fail = (message: string): never => {
      throw new YamlError(number, message)
    }
    if (/^[&*!%@`]/.test(start)) fail(`A text that begins with ${start[0]} needs quotation marks`)
    if (/^[[{]/.test(start)) {
      let text = start
      while (!isClosed(text) && this.#at < this.#source.length) text += `\n${this.#source[this.#at++]?.text}`
      return new FlowReader(text, fail).read()
    }
    if (!/^["']/.test(start)) return this.#plain(start, outer)
    let text = start
    while (!quotedValue(text, 0) && this.#at < this.#source.length) {
      const next = this.#source[this.#at++]?.text ?? ''
      text += next ? (text.endsWith('\n') ? next : ` ${next}`) : '\n'
    }
    const quoted = quotedValue(text, 0)
    if (!quoted) return fail('A quotation mark is missing at the end of this text')
    const rest = uncommented(text.slice(quoted.end)).trim()
    return rest ? fail(`Nothing may follow the quotation mark: ${rest}`) : quoted.value
  }

  #plain(start: string, outer: number): unknown {
    const parts = [uncommented(start)]
    for (let line = this.#peek(); line && line.indent > outer; line = this.#peek()) {
      if (KEY.test(line.text))
        throw new YamlError(line.number, 'This line is indented too far, or a text needs quotation marks')
      parts.push(uncommented(line.text))
      this.#at++
    }
    if (/:\s/.test(parts[0] ?? '')) {
      throw new YamlError(this.#source[this.#at - 1]?.number ?? 1, 'A text with a colon in it needs quotation marks')
    }
    return parts.length === 1 ? plainValue(parts[0] ?? '') : parts.join(' ')
  }

  /** A text in the lines below: `|` keeps its lines, `>` joins them; `-` leaves out the last line break. */
  #blockText(head: string, outer: number): string {
    const [, style, marks = ''] = /^([|>])([-+\d]*)/.exec(head) ?? []
    const first = this.#source.slice(this.#at).find(({ text }) => text)
    const indent =
      outer + 1 + Number(/\d/.exec(marks)?.[0] ?? NaN) - 1 || (first && first.indent > outer ? first.indent : 0)
    const lines: string[] = []
    for (; this.#at < this.#source.length; this.#at++) {
      const line = this.#source[this.#at] as Line
      if (line.text && (indent === 0 || line.indent < indent)) break
      lines.push(line.whole.slice(indent))
    }
    const text = style === '|' ? lines.join('\n') : folded(lines)
    const kept = text.replace(/\n+$/, '')
    if (marks.includes('-')) return kept
    return marks.includes('+') ? `${text}\n` : kept && `${kept}\n`
  }
}

/** Lines of a paragraph become one; an empty line stays a line break, and so does a line that is indented further. */
function folded(lines: readonly string[]): string {
  let text = ''
  for (const [i, line] of lines.entries()) {
    const before = lines[i - 1]
    if (i === 0) text = line
    else if (!line) text += '\n'
    else if (!before) text += text.endsWith('\n') || !text ? line : `\n${line}`
    else text += /^\s/.test(line) || /^\s/.test(before) ? `\n${line}` : ` ${line}`
  }
  return text
}
