import type { IncomingMessage } from 'node:http'
import type { Config } from '../../../config.ts'
import { ApiError, forbidden } from '../../../errors.ts'
import type { ArrivedRequest } from '../request.ts'

/** A header that a page of another origin can't send, because the browser would ask us first and we would refuse. */
const HEADER = 'x-moorage-console'
const HOST = /^[\w.[\]:-]+$/
const IP_ADDRESS = /^(?:\[.*\]|\d+\.\d+\.\d+\.\d+)$/
const THIS_MACHINE = /^(?:localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Decides whether a request may come from our own console in a browser. */
export type ConsoleDoor = {
  /** Throws for a host name that isn't ours. */
  checkHost(arrived: ArrivedRequest): void
  /** Throws if a sign-in or a cookie could be read on the way. */
  checkSecrecy(arrived: ArrivedRequest): void
  /** Whether a page that this service serves under the same host name has sent the request. */
  isOwnPage(arrived: ArrivedRequest): boolean
}

export function consoleDoor({ console, mcp, server }: Config): ConsoleDoor {
  // Clients send people to this URL to sign in.
  const forClients = mcp.signIn && server.publicUrl !== undefined ? [new URL(server.publicUrl).hostname] : []
  const names = new Set([...console.hosts, server.host, ...forClients].map((name) => name.toLowerCase()))
  return {
    checkHost({ message }) {
      const name = nameOf(message)
      // An attacker can point their own domain at this service, and its pages would then count as ours. An IP address
      // can't be misused like that.
      if (name && (IP_ADDRESS.test(name) || THIS_MACHINE.test(name) || names.has(name))) return
      throw forbidden("The console doesn't accept this host name. Add it to console.hosts.")
    },
    checkSecrecy({ secure, message }) {
      if (secure || console.allowInsecure) return
      const isForwarded = message.headers['x-forwarded-for'] !== undefined
      if (!isForwarded && THIS_MACHINE.test(nameOf(message) ?? '')) return
      throw new ApiError(
        'https_required',
        'Signing in requires HTTPS. Set server.tls, or server.trustedProxies if a proxy handles HTTPS. To sign in over plain http, set console.allowInsecure.',
      )
    },
    isOwnPage({ secure, message }) {
      const { method, headers } = message
      const marked = headers[HEADER] === '1'
      if (method !== 'GET' && method !== 'HEAD' && !marked) return false
      const { 'sec-fetch-site': site, origin, host } = headers
      if (site !== undefined) return site === 'same-origin'
      if (origin !== undefined) return origin === `${secure ? 'https' : 'http'}://${host}`
      // Over plain HTTP, browsers send neither header with requests that only read.
      return marked
    },
  }
}

/** The name in the Host header, in the form that browsers use. */
function nameOf({ headers }: IncomingMessage): string | undefined {
  const { host = '' } = headers
  return HOST.test(host) ? URL.parse(`http://${host}`)?.hostname : undefined
}
