import { ApiError } from '../../errors.ts'

/**
 * What a client hears of a run that its request has begun. Every further call of the request counts against the limit of
 * requests. Where none is left, the client hears what is known without a call: after an error it would begin the run
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
