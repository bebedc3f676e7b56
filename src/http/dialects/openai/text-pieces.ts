const MOST_CHARACTERS = 16
const PUNCTUATION = new Set('.,:;!?')

/**
 * Cuts a growing text into pieces of about a word. The cuts depend only on the text, not on how it arrived, so every
 * reader of the same text gets the same pieces.
 */
export class TextPieces {
  #rest = ''

  /** The pieces that are complete now. */
  add(text: string): string[] {
    this.#rest += text
    const pieces: string[] = []
    let from = 0
    for (let end = endOfPiece(this.#rest, from); end !== undefined; end = endOfPiece(this.#rest, from)) {
      pieces.push(this.#rest.slice(from, end))
      from = end
    }
    this.#rest = this.#rest.slice(from)
    return pieces
  }

  /** The remaining text, when no more follows. */
  end(): string[] {
    const rest = this.#rest
    this.#rest = ''
    return rest === '' ? [] : [rest]
  }
}

/** Undefined while more text may belong to the piece. */
function endOfPiece(text: string, from: number): number | undefined {
  let hasWord = false
  for (let at = from; at < text.length; at++) {
    const character = text[at] as string
    const isSpace = character.trim() === ''
    if (PUNCTUATION.has(character) || (isSpace && hasWord)) return at + 1
    hasWord ||= !isSpace
    // Doesn't cut a character in half.
    if (at - from + 1 >= MOST_CHARACTERS && !/[\ud800-\udbff]/.test(character)) return at + 1
  }
  return undefined
}
