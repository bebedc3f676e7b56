/** Control characters steer a terminal; these others turn the direction of what stands beside them, or end a line. */
const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu
const STEERING_BUT_LAYOUT = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Text of strangers for a terminal: what would steer it is shown instead. JSON stays the same JSON. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(STEERING_BUT_LAYOUT, escape)
}

/** The same for a place that has one line, such as an entry of a log. */
export function visibleLine(text: string): string {
  return text.replace(STEERING, escape)
}

const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
