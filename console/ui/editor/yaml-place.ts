/** Something that can be written at a place. */
export type Word = { text: string; about?: string; isName?: boolean }

/**
 * A place in a YAML text: the names that lead there (`-` is an item of a list), the name whose value is being written,
 * and the existing names next to it with their values.
 */
export type YamlPlace = {
  path: string[]
  key: string | undefined
  siblings: Map<string, string>
  /** What has been typed of the word so far. */
  typed: string
}

export type WordsAt = (place: YamlPlace) => Word[]

const LINE = /^( *)((?:- +)*)(?:([\w-]+):(?: +(.*))?|(.*))$/

/** The cursor's place. Undefined within comments and longer texts. */
export function placeAt(text: string, cursor: number): YamlPlace | undefined {
  const before = text.slice(0, cursor)
  const lines = text.split('\n')
  const at = before.split('\n').length - 1
  const current = before.slice(before.lastIndexOf('\n') + 1)
  const [, space = '', dashes = '', key, value, rest = ''] = LINE.exec(current) ?? []
  if (key !== undefined ? !/^[\w./:-]*$/.test(value ?? '') || !/: /.test(current) : !/^[\w-]*$/.test(rest))
    return undefined
  const indent = space.length + dashes.length
  const path: string[] = []
  let least = indent
  path.push(...dashes.replaceAll(' ', ''))
  // A list may be indented as little as the name that it belongs to.
  let isItem = dashes !== ''
  if (isItem) least = space.length
  for (let i = at - 1; i >= 0 && (least > 0 || isItem); i--) {
    const [, outer = '', items = '', name, , other = ''] = LINE.exec(lines[i] ?? '') ?? []
    const own = outer.length + items.length
    if ((lines[i] ?? '').trim() === '' || /^\s*#/.test(lines[i] ?? '')) continue
    if (items && !isItem && own === least) {
      path.unshift('-')
      least = outer.length
      isItem = true
    } else if (name !== undefined && (own < least || (isItem && own === least && !items))) {
      path.unshift(name)
      least = items ? outer.length : own
      isItem = items !== ''
      if (isItem) path.unshift('-')
    } else if (other && own < least) return undefined
  }
  return { path, key, typed: key === undefined ? rest : (value ?? ''), siblings: siblingsOf(lines, at, indent) }
}

/** The names in the same map as the line. */
function siblingsOf(lines: readonly string[], at: number, indent: number): Map<string, string> {
  const found = new Map<string, string>()
  for (const step of [-1, 1]) {
    for (let i = at + step; i >= 0 && i < lines.length; i += step) {
      const [, outer = '', items = '', name, value = ''] = LINE.exec(lines[i] ?? '') ?? []
      const own = outer.length + items.length
      if ((lines[i] ?? '').trim() === '' || own > indent) continue
      if (own < indent || (step === 1 && items)) break
      if (name) found.set(name, value.trim())
      if (items) break
    }
  }
  return found
}
