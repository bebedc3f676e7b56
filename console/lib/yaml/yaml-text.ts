const PLAIN = /^[A-Za-z_/][\w ./@:+-]*$/
const RESERVED = /^(true|false|null|yes|no|on|off|~)$|: |:$| $/i
/** Characters that hide text, or show it in a different order than programs read it. */
const HIDING = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/** A value as YAML for people to read, such as an agent's definition or the difference between two versions. */
export function yamlText(value: unknown, indent = ''): string {
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return value.map((item) => `${indent}- ${yamlText(item, `${indent}  `).trimStart()}`).join('\n')
  }
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(([, item]) => item !== undefined)
    if (entries.length === 0) return '{}'
    return entries
      .map(
        ([name, item]) =>
          `${indent}${name.includes('\n') ? JSON.stringify(name) : scalarText(name, '')}:${behindName(item, indent)}`,
      )
      .join('\n')
  }
  return scalarText(value, indent)
}

function behindName(item: unknown, indent: string): string {
  const isNested = typeof item === 'object' && item !== null && Object.keys(item).length > 0
  return isNested ? `\n${yamlText(item, `${indent}  `)}` : ` ${scalarText(item, indent)}`
}

function scalarText(value: unknown, indent: string): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  if (value.search(HIDING) >= 0) return JSON.stringify(value).replace(HIDING, escapeOf)
  if (/\S\n/.test(value) && !/^\s|[\t\r]|\s$/.test(value.replace(/\n$/, ''))) {
    const lines = value.replace(/\n$/, '').split('\n')
    return `|${value.endsWith('\n') ? '' : '-'}\n${lines.map((line) => line && `${indent}  ${line}`).join('\n')}`
  }
  return PLAIN.test(value) && !RESERVED.test(value) ? value : JSON.stringify(value)
}

const escapeOf = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
