import { ApiError } from '../../errors.ts'

/**
 * What a client learns about a run that its request has started. Every further call of the request is counted against
 * the rate limit. If none is left, the client gets what is known without a call: after an error it would start the run
 * again.
 */
export async function unlessLimited<T>(asked: Promise<T>, known: () => T): Promise<T> {
  try {
    return await asked
  } catch (error) {
    if (isLimited(error)) return known()
    throw error
  }
}

export function isLimited(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'rate_limited'
}
