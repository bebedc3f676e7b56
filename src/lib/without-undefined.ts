type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** The fields that have a value. Spread over others, the rest would remove theirs. */
export function withoutUndefined<T extends object>(fields: T): Partial<Defined<T>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Defined<T>>
}
