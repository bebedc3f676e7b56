const QUALITY = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/i

/**
 * Whether the client would rather have this type than JSON: its Accept header names it, and gives JSON no higher quality
 * (RFC 9110, 12.5.1). At equal quality the type wins, because every client takes JSON.
 */
export function prefers(accept: string | undefined, type: string): boolean {
  // Most requests name no such type, so nothing is read.
  if (!accept?.toLowerCase().includes(type)) return false
  const qualities = new Map(
    accept
      .toLowerCase()
      .split(',')
      .map((range) => range.split(';').map((part) => part.trim()))
      .map(([name = '', ...parameters]) => [name, qualityOf(parameters)]),
  )
  const wanted = qualities.get(type) ?? 0
  const json = ['application/json', 'application/*', '*/*'].find((range) => qualities.has(range)) ?? ''
  return wanted > 0 && wanted >= (qualities.get(json) ?? 0)
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.map((parameter) => QUALITY.exec(parameter)?.[1]).find((quality) => quality !== undefined)
  return given === undefined ? 1 : Number(given)
}
