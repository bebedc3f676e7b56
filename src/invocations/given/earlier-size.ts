import type { Invocation } from '../invocation.ts'

/**
 * How many characters of earlier invocations one run takes up. No model reads so much, and without a limit a short
 * request could name more than the memory of this process holds.
 */
export const MAX_EARLIER = 16 * 1024 * 1024

/** What an invocation adds to a conversation, at most. */
export function charactersOf({ message, response, given, rounds }: Invocation): number {
  return message.length + (response?.length ?? 0) + JSON.stringify([given, rounds]).length
}
