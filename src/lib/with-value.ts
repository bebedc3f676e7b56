/** Goes on with a value: at once when it is there, later when it is promised. A promise only where one must be waited for. */
export function withValue<T, R>(value: T | Promise<T>, use: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(use) : use(value)
}
