/** What is wrong with a text, and in which of its lines. Lines are counted from 1. */
export class YamlError extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

const NUMBER = /^[-+]?(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i
const INTEGER = /^0(o[0-7]+|x[\da-f]+)$/i

/** What a text without quotes means: the core schema of YAML 1.2. */
export function plainValue(text: string): unknown {
  if (/^(~|null|)$/i.test(text)) return null
  if (/^true$/i.test(text)) return true
  if (/^false$/i.test(text)) return false
  return NUMBER.test(text) || INTEGER.test(text) ? Number(text) : text
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', '0': '\0', b: '\b', f: '\f', v: '\v', e: '\x1b' }
const CODE_LENGTH: Record<string, number> = { x: 2, u: 4, U: 8 }

/** The value of a text in quotes that begins at `start`, and where it ends. Undefined while its end is missing. */
export function quotedValue(text: string, start: number): { value: string; end: number } | undefined {
  const quote = text[start]
  let value = ''
  for (let at = start + 1; at < text.length; at++) {
    const character = text[at] as string
    if (character === quote && quote === "'" && text[at + 1] === "'") value += text[at++]
    else if (character === quote) return { value, end: at + 1 }
    else if (character === '\\' && quote === '"') {
      const escape = text[++at] ?? ''
      const length = CODE_LENGTH[escape] ?? 0
      value += length
        ? String.fromCodePoint(Number.parseInt(text.slice(at + 1, at + 1 + length), 16) || 0)
        : (ESCAPES[escape] ?? escape)
      at += length
    } else value += character
  }
  return undefined
}

/** Without the comment that may follow the text. */
export function uncommented(text: string): string {
  return text.replace(/(^|\s)#.*$/, '').trimEnd()
}
