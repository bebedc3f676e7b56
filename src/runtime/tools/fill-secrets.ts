import type { RemoteSettings, Tool } from '../spec.ts'

export type Secret = { value: string; hosts: readonly string[] }
export type Secrets = Readonly<Record<string, Secret>>
/** Returns every secret that the tools of a project may use now. */
export type SecretSource = (project_id: string) => Promise<Secrets>

const PLACEHOLDER = /\{\{\s*secret\.([A-Za-z0-9_.-]+)\s*\}\}/g

/** Thrown when a secret may not be used. The message names the secret, never its value. */
export class SecretRefused extends Error {}

/** Fills in {{secret.NAME}} in the headers of a request to `url`. Refuses a host that the operator did not list. */
export function fillHeaders(headers: Readonly<Record<string, string>>, url: URL, secrets: Secrets) {
  const filled: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    filled[name] = value.replace(PLACEHOLDER, (_whole, secretName: string) => {
      const secret = Object.hasOwn(secrets, secretName) ? secrets[secretName] : undefined
      if (!secret) throw new SecretRefused(`The secret ${secretName} is not configured`)
      if (!secret.hosts.some((host) => isHost(host, url))) {
        throw new SecretRefused(`The secret ${secretName} may not be sent to ${url.host}`)
      }
      return secret.value
    })
  }
  return filled
}

/** The secrets that an agent names. No other secret can be sent by it or come back. */
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

/** `api.example.com` means any port, `api.example.com:8443` only that one. */
function isHost(host: string, url: URL): boolean {
  const wanted = host.toLowerCase()
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  return wanted === url.hostname || wanted === `${url.hostname}:${port}`
}

export type Redact = (text: string) => string

/** Replaces every secret by its name, even if a server sends it back encoded. */
export function redactor(secrets: Readonly<Record<string, string>>): Redact {
  const names = new Map<string, string>()
  for (const [name, value] of Object.entries(secrets)) {
    for (const form of forms(value)) names.set(form, name)
  }
  if (names.size === 0) return (text) => text
  // Longest first, so that a secret that contains another one is replaced as a whole.
  const alternatives = [...names.keys()].toSorted((a, b) => b.length - a.length).map(RegExp.escape)
  const pattern = new RegExp(alternatives.join('|'), 'g')
  return (text) => text.replace(pattern, (form) => `[secret ${names.get(form)}]`)
}

function forms(value: string): string[] {
  if (value === '') return []
  const base64 = Buffer.from(value).toString('base64')
  return [
    value,
    encodeURIComponent(value.toWellFormed()),
    JSON.stringify(value).slice(1, -1),
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(value).toString('base64url'),
  ]
}

/** The values by their names, to hide them. */
export function valuesOf(secrets: Secrets): Record<string, string> {
  return Object.fromEntries(Object.entries(secrets).map(([name, { value }]) => [name, value]))
}
