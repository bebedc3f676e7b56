/**
 * Control characters can control a terminal. The others change the direction of the text beside them, or end a line.
 */
const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu
const STEERING_BUT_LAYOUT = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** Makes text of strangers safe for a terminal: control characters are shown as escapes. JSON keeps its meaning. */
export function visible(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(STEERING_BUT_LAYOUT, escape)
}

/** The same for text that must stay on one line, such as an entry of a log. */
export function visibleLine(text: string): string {
  return text.replace(STEERING, escape)
}

const escape = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
