import { type IpList, ipList } from '../ip-list.ts'
import { isPublic, parseAddress } from './ip-address.ts'

export interface UrlPolicy {
  /** Allows plain http. For https, certificates are always checked. */
  allowInsecure: boolean
  /** Ranges that may be reached even though they aren't public. */
  allowedCidrs: readonly string[]
  /** The names of these two settings. A refusal says which one to change. */
  settings?: { allowInsecure: string; allowedCidrs: string }
}

interface UrlProblem {
  code: 'invalid_url' | 'blocked_address'
  message: string
}

const MAX_URL_LENGTH = 2048

/** Checks a URL as far as that is possible without DNS. */
export function checkUrl(url: string | URL, policy: UrlPolicy): UrlProblem | undefined {
  const text = String(url)
  if (text.length > MAX_URL_LENGTH) return invalid(`must be at most ${MAX_URL_LENGTH} characters`)
  // The URL parser would silently remove these, and the stored text would differ from the URL that is called.
  if (/[\s\p{Cc}]/u.test(text)) return invalid('must not contain spaces or control characters')
  const parsed = URL.parse(text)
  if (parsed === null) return invalid('must be a valid URL')
  if (parsed.href.length > MAX_URL_LENGTH) return invalid(`must be at most ${MAX_URL_LENGTH} characters`)
  const insecure = policy.allowInsecure && parsed.protocol === 'http:'
  if (parsed.protocol !== 'https:' && !insecure) {
    return invalid(`must use https${parsed.protocol === 'http:' ? hintToInsecure(parsed, policy) : ''}`)
  }
  if (parsed.username !== '' || parsed.password !== '') return invalid('must not contain a user name or password')
  if (parsed.href.includes('#')) return invalid('must not contain a fragment')
  if (BAD_PORTS.has(Number(parsed.port || 443))) return invalid(`must not use port ${parsed.port}`)
  return checkHost(urlHost(parsed), policy)
}

/** The host in the form for DNS, TLS and sockets: without brackets around IPv6, and without a dot at the end. */
export function urlHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
}

/** Whether this address may be reached. */
export function allowsAddress(text: string, exceptions: IpList): boolean {
  const address = parseAddress(text)
  return address !== undefined && (isPublic(address) || exceptions.allows(text))
}

/** A hint for the operator at the end of a refusal: which setting would allow it. */
export function hintTo(refused: string, setting: string | undefined): string {
  return setting === undefined ? '' : ` (the operator can allow ${refused} with ${setting})`
}

/** A private address also needs the other setting, so the hint names both. */
function hintToInsecure(url: URL, policy: UrlPolicy): string {
  const { settings } = policy
  if (settings === undefined || checkHost(urlHost(url), policy)?.code !== 'blocked_address') {
    return hintTo('http', settings?.allowInsecure)
  }
  return hintTo('http to this address', `${settings.allowInsecure} and ${settings.allowedCidrs}`)
}

function checkHost(host: string, { allowedCidrs, settings }: UrlPolicy): UrlProblem | undefined {
  if (host.split('.').includes('')) return invalid('must not have an empty label in its host name')
  const local = host === 'localhost' || host.endsWith('.localhost')
  const literals = local ? ['127.0.0.1', '::1'] : parseAddress(host) ? [host] : []
  const exceptions = ipList(allowedCidrs)
  if (literals.length === 0 || literals.some((address) => allowsAddress(address, exceptions))) return undefined
  const hint = hintTo('this one', settings?.allowedCidrs)
  return { code: 'blocked_address', message: `must point to a public address${hint}` }
}

function invalid(message: string): UrlProblem {
  return { code: 'invalid_url', message }
}

// https://fetch.spec.whatwg.org/#port-blocking
const BAD_PORTS = new Set([
  0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110,
  111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532,
  540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061,
  6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
])
