import type { IncomingHttpHeaders } from 'node:http'

/** A browser's request. It is secure if no other machine could read it on the way. */
type BrowserRequest = { readonly message: { readonly headers: IncomingHttpHeaders }; readonly secure: boolean }

/** The values of a cookie. There are several if it was set for several paths or by a sibling domain. */
export function cookieValues({ message }: BrowserRequest, name: string): string[] {
  const { cookie } = message.headers
  if (cookie === undefined) return []
  const start = `${name}=`
  const pairs = cookie.split(';').map((pair) => pair.trim())
  return pairs.filter((pair) => pair.startsWith(start)).map((pair) => pair.slice(start.length))
}

/**
 * The cookie's name. Over TLS, it has a prefix that makes browsers accept the cookie only from this exact host.
 * Browsers send cookies to every port of a host, so without TLS the name contains the port, and two services on one
 * machine have different cookies.
 */
export function cookieName({ secure, message }: BrowserRequest, name: string): string {
  return secure ? `__Host-${name}` : `${name}-${/:(\d+)$/.exec(message.headers.host ?? '')?.[1] ?? 80}`
}

type Cookie = { name: string; value: string; site: string; seconds?: number }

/** A cookie that no script can read. Without `seconds`, it ends with the browser. */
export function cookieLine({ secure }: BrowserRequest, { name, value, site, seconds }: Cookie): string {
  const age = seconds === undefined ? '' : `; Max-Age=${seconds}`
  return `${name}=${value}; Path=/; HttpOnly; SameSite=${site}${secure ? '; Secure' : ''}${age}`
}
