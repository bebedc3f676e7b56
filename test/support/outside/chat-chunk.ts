/** A piece of an answer as OpenAI-compatible servers stream it. */
export function chatChunk(delta: object, finish_reason: string | null = null): string {
  return `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
}
