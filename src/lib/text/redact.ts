const REDACTED = '[redacted]'

/** Secrets that can be recognized by their form. The text before the secret is captured and kept. */
const SECRETS = [
  /(?:mrg(?:ac|at|rt)?|whsec)_[\w+/=-]{16,}/,
  /\b(?:sk|pk|rk|gh[opsur]|github_pat|glpat|xox[abeprs]|hf)[_-][\w-]{16,}/,
  /\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{35}/,
  /-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[^]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/,
  /(?<url>\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/?#@]+@/,
  /(?<header>\b(?:proxy-)?authorization\b["']?\s{0,4}[:=]\s{0,4}["']?(?:[a-z]+ +)?)[^\s"',;]+/,
  /(?<scheme>\bbearer\s{1,4})(?:[\w.~+/-]{20,}|(?=[a-z_.~+/-]{0,20}\d)[\w.~+/-]{6,})=*/,
  /(?<name>\b(?:x-)?(?:api[_-]?key|access[_-]?token|client[_-]?secret|secret|password)\b["']?\s{0,4}[:=]\s{0,4}["']?)[^\s"',;&]+/,
]
const PATTERN = new RegExp(SECRETS.map(({ source }) => source).join('|'), 'gi')

/**
 * Matches a JWT with the word around it. The pattern looks ahead only once per word, because looking ahead from every
 * `eyJ` in a long word would take seconds.
 */
const JWT = /(?<![\w-])(?=[\w-]+\.[\w-]{8,}\.)[\w-]*?\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g

/**
 * A word this short can't be one of the secrets above, because the shortest is `sk_` with 16 more characters. Most
 * names and many values are this short.
 */
const SHORT_WORD = /^\w{0,18}$/

/** Replaces everything in the text that looks like a key, a token or a password. */
export function redact(text: string): string {
  if (SHORT_WORD.test(text)) return text
  const rest = text.includes('eyJ') ? text.replace(JWT, REDACTED) : text
  return rest.replace(PATTERN, (...match) => {
    const { url, header, scheme, name } = match.at(-1) as Record<string, string | undefined>
    if (url !== undefined) return `${url}${REDACTED}@`
    return (header ?? scheme ?? name ?? '') + REDACTED
  })
}

/** Fields whose whole value is a secret. `tokens_used` isn't one of them. */
const SECRET_FIELD = /(?:^|[_-])(?:authorization|cookie|password|secret|token|api_?key)$/i
const MAX_DEPTH = 16

/** Redacts all texts inside a value, at any depth. A field with the name of a secret loses its whole text. */
export function redactDeep(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return redact(value)
  if (value === null || typeof value !== 'object') return value
  if (depth === MAX_DEPTH) return '[too deep]'
  if (Array.isArray(value)) return value.map((inner) => redactDeep(inner, depth + 1))
  const fields: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(value)) {
    const isSecret = typeof inner === 'string' && SECRET_FIELD.test(name)
    const cleaned = isSecret ? REDACTED : redactDeep(inner, depth + 1)
    // Assigning to __proto__ would change the object's prototype.
    if (name === '__proto__') Object.defineProperty(fields, name, { value: cleaned, enumerable: true })
    else fields[redact(name)] = cleaned
  }
  return fields
}
