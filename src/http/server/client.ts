import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { clientAddress, type IpList } from '../../security/ip-list.ts'
import type { Exchange } from '../pipeline/exchange.ts'

/** Whether the client speaks TLS: to us, or to a proxy that we trust to say so. */
export function isSecure(request: FastifyRequest, trusted: IpList): boolean {
  const socket = request.raw.socket as TLSSocket
  if (socket.encrypted) return true
  const told = headerText(request, 'x-forwarded-proto')
  if (told === undefined || !trusted.allows(socket.remoteAddress ?? '')) return false
  // One plain hop anywhere on the way makes the whole way plain.
  return told.split(',').every((hop) => hop.trim().toLowerCase() === 'https')
}

/** From here on the exchange carries the address behind the trusted proxies. */
export function findAddress(trusted: IpList) {
  // A connection that names nobody behind it has one address for all its requests.
  const direct = new WeakMap<Socket, string>()
  return (exchange: Exchange): void => {
    const { socket } = exchange.request.raw
    const forwarded = headerText(exchange.request, 'x-forwarded-for')
    const known = forwarded === undefined ? direct.get(socket) : undefined
    const address = known ?? clientAddress(exchange.address, forwarded, trusted)
    if (address === undefined) throw new ApiError('forbidden', 'X-Forwarded-For is malformed')
    if (forwarded === undefined && known === undefined) direct.set(socket, address)
    exchange.address = address
  }
}

function headerText({ headers }: FastifyRequest, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(',') : value
}
