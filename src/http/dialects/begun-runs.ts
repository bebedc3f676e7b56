import { ApiError } from '../../errors.ts'

/**
 * Reports on a run that this request has started. Each further call in the request counts against the rate limit. If
 * the limit is reached, the client gets what is known without a call, because after an error it would start the run
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
