import { plainValue, quotedValue, uncommented } from './yaml-scalar.ts'

type Fail = (message: string) => never

/** Whether every bracket and quote that the text opens is closed. */
export function isClosed(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string
    if (character === '"' || character === "'") {
      const quoted = /[\s[{,:]/.test(text[at - 1] ?? ' ') ? quotedValue(text, at) : { end: at + 1 }
      if (!quoted) return false
      at = quoted.end - 1
    } else if ('[{'.includes(character)) depth++
    else if (']}'.includes(character)) depth--
  }
  return depth <= 0
}

/** Reads `[a, "b"]` and `{ a: 1 }`: values in brackets, as JSON has them, with texts that need no quotes. */
export class FlowReader {
  readonly #text: string
  readonly #fail: Fail
  #at = 0

  constructor(text: string, fail: Fail) {
    this.#text = text
    this.#fail = fail
  }

  read(): unknown {
    const value = this.#value()
    const rest = uncommented(this.#text.slice(this.#at)).trim()
    if (rest) this.#fail(`Nothing may follow the bracket: ${rest}`)
    return value
  }

  #value(): unknown {
    const next = this.#next()
    if (next === '[') return this.#list()
    if (next === '{') return this.#map()
    return this.#scalar()
  }

  #list(): unknown[] {
    const items: unknown[] = []
    for (this.#at++; this.#next() !== ']'; this.#separate(']')) items.push(this.#value())
    this.#at++
    return items
  }

  #map(): Record<string, unknown> {
    const entries: [string, unknown][] = []
    for (this.#at++; this.#next() !== '}'; this.#separate('}')) {
      const key = String(this.#scalar())
      if (this.#next() !== ':') this.#fail(`A colon must follow ${key}`)
      this.#at++
      entries.push([key, ',}'.includes(this.#next()) ? null : this.#value()])
    }
    this.#at++
    return Object.fromEntries(entries)
  }

  #scalar(): unknown {
    const next = this.#next()
    if (next === '"' || next === "'") {
      const quoted = quotedValue(this.#text, this.#at)
      if (!quoted) return this.#fail('A quotation mark is missing')
      this.#at = quoted.end
      return quoted.value
    }
    const [plain = ''] =
      /^(?:[^,[\]{}:#\s]|:(?=[^\s,[\]{}])|#|[^\S\n]+(?=[^\s,[\]{}:#]))*/.exec(this.#text.slice(this.#at)) ?? []
    if (!plain) this.#fail(next ? `${next} cannot stand here` : 'A bracket is missing at the end')
    this.#at += plain.length
    return plainValue(plain.trim())
  }

  #separate(end: string): void {
    if (this.#next() === ',') this.#at++
    else if (this.#next() !== end) this.#fail(`A comma or ${end} is missing`)
  }

  /** The next character that is not space. */
  #next(): string {
    const [space = ''] = /^(?:\s|(?<=\s)#.*)*/.exec(this.#text.slice(this.#at)) ?? []
    this.#at += space.length
    return this.#text[this.#at] ?? ''
  }
}
