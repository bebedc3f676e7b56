/** Throws for text that is no base64. `Uint8Array.from` would take ten times as long, and the process stands still meanwhile. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64)
  const bytes = new Uint8Array(text.length)
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i)
  return bytes
}
