const CONTROL = /(?![\n\t])\p{Cc}/gu

/** Text of strangers for a terminal: what would steer it is shown instead. JSON stays the same JSON. */
export function visible(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(CONTROL, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
