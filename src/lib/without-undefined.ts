type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** The fields that have a value. If undefined fields were spread over others, they would remove the others' values. */
export function withoutUndefined<T extends object>(fields: T): Partial<Defined<T>> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<Defined<T>>
}
