import type { RemoteSettings, Tool } from '../spec.ts'

export type Secret = { value: string; hosts: readonly string[] }
export type Secrets = Readonly<Record<string, Secret>>
/** Returns every secret that a project's tools can currently use. */
export type SecretSource = (project_id: string) => Promise<Secrets>

/** In headers, besides secrets: the token of a connection. */
const ANY_PLACEHOLDER = /\{\{\s*(secret|connection)\.([A-Za-z0-9_.-]+)\s*\}\}/g
const PLACEHOLDER = /\{\{\s*secret\.([A-Za-z0-9_.-]+)\s*\}\}/g

/** Thrown when a secret must not be used. The message names the secret, never its value. */
export class SecretRefused extends Error {}

/**
 * Fills in {{secret.NAME}} and {{connection.NAME}} in the headers of a request to `url`. Refuses a host that isn't in the
 * list of the secret or the connection. Without `tokens`, connections are left as they are.
 */
export function fillHeaders(
  headers: Readonly<Record<string, string>>,
  url: URL,
  secrets: Secrets,
  tokens?: Secrets,
): Record<string, string> {
  const filled: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    filled[name] = value.replace(ANY_PLACEHOLDER, (whole, kind: 'secret' | 'connection', itsName: string) => {
      const known = kind === 'secret' ? secrets : tokens
      if (!known) return whole
      const found = Object.hasOwn(known, itsName) ? known[itsName] : undefined
      if (!found) throw new SecretRefused(`The ${kind} ${itsName} is not configured`)
      requireHost(`${kind} ${itsName}`, found, url)
      return found.value
    })
  }
  return filled
}

export function hasSecret(text: string): boolean {
  return text.search(PLACEHOLDER) >= 0
}

/** The secrets that an agent names. It can't send any other secret, so it can't get one back either. */
export function secretsOf(named: readonly (Tool | RemoteSettings)[], secrets: Secrets): Secrets {
  const texts = named.flatMap((one) => ('headers' in one ? Object.values(one.headers) : []))
  const signing = named.flatMap((one) => ('secret' in one ? [one.secret] : []))
  const names = [
    ...signing,
    ...texts.flatMap((text) => Array.from(text.matchAll(PLACEHOLDER), ([, name]) => name as string)),
  ]
  return Object.fromEntries(
    names.filter((name) => Object.hasOwn(secrets, name)).map((name) => [name, secrets[name] as Secret]),
  )
}

/** Throws SecretRefused if it must not be sent to this URL. */
export function requireHost(what: string, { hosts }: Pick<Secret, 'hosts'>, url: URL): void {
  if (hosts.some((host) => isHost(host, url))) return
  const [kind] = what.split(' ')
  throw new SecretRefused(`The ${what} can't be sent to ${url.host}; add the host to the ${kind}'s hosts`)
}

/** `api.example.com` allows any port, `api.example.com:8443` only that port. */
function isHost(host: string, url: URL): boolean {
  const wanted = host.toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return wanted === url.hostname || wanted === `${url.hostname}:${port}`
}

export type Redact = (text: string) => string

/**
 * If a text was cut within a secret, the part that remains is hidden if it is at least half of the secret and this
 * long.
 */
const SHORTEST_HEAD = 8

/**
 * Replaces every secret with its name, even if a server sends it back encoded, and even if the text was cut within it.
 */
export function redactor(secrets: Readonly<Record<string, string>>): Redact {
  const hidden = Object.entries(secrets).flatMap(([name, value]) =>
    [...forms(value)].map((form) => ({ name, form, head: headOf(form) })),
  )
  if (hidden.length === 0) return (text) => text
  const pattern = new RegExp(hidden.map(({ head }) => RegExp.escape(head)).join('|'), 'g')
  return (text) => {
    let clean = ''
    let end = 0
    pattern.lastIndex = 0
    for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
      const { index } = found
      const here = hidden.filter(({ head }) => text.startsWith(head, index))
      // If one secret contains another, the longer one is replaced as a whole.
      const [longest] = here
        .map(({ name, form }) => ({ name, length: sameLength(text, index, form) }))
        .toSorted((one, other) => other.length - one.length)
      if (!longest) continue
      clean += `${text.slice(end, index)}[secret ${longest.name}]`
      end = index + longest.length
      pattern.lastIndex = end
    }
    return clean + text.slice(end)
  }
}

function headOf(form: string): string {
  return form.slice(0, Math.max(SHORTEST_HEAD, Math.ceil(form.length / 2)))
}

/** How many characters of the form the text contains at this position. */
function sameLength(text: string, index: number, form: string): number {
  let length = 0
  while (length < form.length && text[index + length] === form[length]) length++
  return length
}

/** The forms in which a value can appear in a text. For most values, several of them are equal. */
function forms(value: string): Set<string> {
  if (value === '') return new Set()
  const base64 = Buffer.from(value).toString('base64')
  return new Set([
    value,
    encodeURIComponent(value.toWellFormed()),
    JSON.stringify(value).slice(1, -1),
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(value).toString('base64url'),
  ])
}

/** Hides values, also those that become known later. */
export function growingRedactor(values: Readonly<Record<string, string>>): {
  redact: Redact
  hide(name: string, value: string): void
} {
  const known = new Map(Object.entries(values).map(([name, value]) => [value, name]))
  let current = redactor(values)
  return {
    redact: (text) => current(text),
    hide(name, value) {
      if (known.has(value)) return
      known.set(value, name)
      current = chained(redactor({ [name]: value }), current)
    },
  }
}

function chained(first: Redact, second: Redact): Redact {
  return (text) => second(first(text))
}

/** The secrets' values by name, for hiding them. */
export function valuesOf(secrets: Secrets): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).map(([name, { value }]) => [name, value]))
}
