import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { ApiError } from '../../../errors.ts'
import { clientAddress, type IpList } from '../../../security/ip-list.ts'
import type { Arrived } from '../request.ts'

/** Whether the client uses TLS, either to us or to a proxy that we trust to report it. */
export function isSecure(message: IncomingMessage, trusted: IpList): boolean {
  const socket = message.socket as TLSSocket
  if (socket.encrypted) return true
  const told = headerText(message, 'x-forwarded-proto')
  if (told === undefined || !trusted.allows(socket.remoteAddress ?? '')) return false
  // If one hop was plain, the whole way counts as plain.
  return told.split(',').every((hop) => hop.trim().toLowerCase() === 'https')
}

/** Sets the request's address to the one behind the trusted proxies. */
export function findAddress(trusted: IpList) {
  // A connection without a forwarded address has the same address for all its requests.
  const direct = new WeakMap<Socket, string>()
  return (arrived: Arrived): void => {
    const { socket } = arrived.message
    const forwarded = headerText(arrived.message, 'x-forwarded-for')
    const known = forwarded === undefined ? direct.get(socket) : undefined
    const address = known ?? clientAddress(arrived.address, forwarded, trusted)
    if (address === undefined) throw new ApiError('forbidden', 'X-Forwarded-For is malformed')
    if (forwarded === undefined && known === undefined) direct.set(socket, address)
    arrived.address = address
  }
}

function headerText({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(',') : value
}
