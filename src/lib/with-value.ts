/**
 * Calls `use` with a value: at once if the value is there, and later if it is a promise. Callers that need not wait get
 * no promise.
 */
export function withValue<T, R>(value: T | Promise<T>, use: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value)
}
