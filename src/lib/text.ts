/** Text as every store can hold it: UTF-8 has no lone surrogates, PostgreSQL no NUL. */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
