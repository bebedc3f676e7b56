const WIDTH = 120

/** JSON as a person would lay it out: what fits on a line is on one line. */
export function printed(value: unknown, indent = ''): string {
  const short = onOneLine(value)
  if (typeof value !== 'object' || value === null || indent.length + short.length <= WIDTH) return short
  const deeper = `${indent}  `
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map((one) => deeper + printed(one, deeper))
    : Object.entries(value).map(([name, one]) => `${deeper}${JSON.stringify(name)}: ${printed(one, deeper)}`)
  return `${isList ? '[' : '{'}\n${parts.join(',\n')}\n${indent}${isList ? ']' : '}'}`
}

function onOneLine(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`
  const fields = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${onOneLine(one)}`)
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`
}
