/**
 * Whether the mail server `host` has found that the message is really from the domain of its author: the result of
 * DMARC in its header `Authentication-Results` (RFC 8601). Everybody can write such a header into a message. Servers put
 * theirs above those, so only the first one with the server's name counts.
 */
export function isProven(results: readonly string[], host: string, address: string): boolean {
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase()
  const ours = results.map(partsOf).find(([id = '']) => id.split(' ')[0] === host.toLowerCase())
  return (ours ?? []).slice(1).some((result) => {
    const from = /(?:^| )header\.from ?= ?@?([^ ]+)/.exec(result)?.[1]
    return /^dmarc ?(?:\/ ?\d+ ?)?= ?pass(?: |$)/.test(result) && from === domain
  })
}

/** The parts between semicolons, in lowercase. Comments are removed, and quoted text can't contain a separator. */
function partsOf(header: string): string[] {
  let plain = ''
  let depth = 0
  let isQuoted = false
  for (let i = 0; i < header.length; i++) {
    const character = header.charAt(i)
    if (character === '\\' && (isQuoted || depth > 0)) i++
    else if (character === '"' && depth === 0) isQuoted = !isQuoted
    else if (isQuoted) plain += /[\w.-]/.test(character) ? character : '_'
    else if (character === '(') depth++
    else if (character === ')') depth = Math.max(0, depth - 1)
    else if (depth === 0) plain += character
  }
  return plain.split(';').map((part) => part.replace(/\s+/g, ' ').trim().toLowerCase())
}
