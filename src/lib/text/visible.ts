/** Characters that can control a terminal, change the direction of the text next to them, or end a line. */
const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu
const STEERING_BUT_LAYOUT = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Makes text from strangers safe for a terminal by showing control characters as escapes. JSON keeps its meaning. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(STEERING_BUT_LAYOUT, escape)
}

/** The same for text that must stay on one line, such as a log entry. */
export function visibleLine(text: string): string {
  return text.replace(STEERING, escape)
}

const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
