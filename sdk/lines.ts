import { MoorageError } from './errors.ts'

/** Yields the values of a reply that has one value per line, as they arrive. Throws if the reply is cut off. */
export async function* readLines<T>(
  response: Response,
  signal: AbortSignal | undefined,
): AsyncGenerator<T, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const bytes of response.body ?? []) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield JSON.parse(line) as T
    }
    if (rest !== '') throw new Error('the last line is not complete')
  } catch (cause) {
    signal?.throwIfAborted()
    throw new MoorageError('unreachable', 'The reply ended before it was complete.', { cause })
  }
}
