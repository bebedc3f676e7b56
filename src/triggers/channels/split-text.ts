/** The most messages in which an answer is sent. */
const MOST_PARTS = 20
const CUT = '[The rest of this answer is too long for this conversation.]'
const FENCE = '```'

/**
 * Splits a text into parts of at most `limit` characters, where possible between paragraphs, lines or words. A block of
 * code that continues in the next part is closed and opened again.
 */
export function splitText(text: string, limit: number): string[] {
  const parts: string[] = []
  // Room for the fences that may be added to a part.
  const most = limit - 2 * (FENCE.length + 1)
  let rest = text.trim()
  let isInCode = false
  while (rest !== '') {
    if (parts.length === MOST_PARTS - 1 && rest.length > most) {
      parts.push(CUT)
      break
    }
    const end = rest.length <= most ? rest.length : placeToCut(rest, most)
    const piece = rest.slice(0, end).trimEnd()
    rest = rest.slice(end).replace(isInCode ? /^\n/ : /^\s+/, '')
    const opening = isInCode ? `${FENCE}\n` : ''
    if ((piece.split(FENCE).length - 1) % 2 === 1) isInCode = !isInCode
    parts.push(opening + piece + (isInCode && rest !== '' ? `\n${FENCE}` : ''))
  }
  return parts
}

function placeToCut(text: string, most: number): number {
  const head = text.slice(0, most)
  const places = [head.lastIndexOf('\n\n'), head.lastIndexOf('\n'), head.lastIndexOf(' ')]
  const place = places.find((one) => one > most / 2)
  if (place !== undefined) return place
  // A character that consists of two halves stays whole.
  return /[\uD800-\uDBFF]$/.test(head) ? most - 1 : most
}
