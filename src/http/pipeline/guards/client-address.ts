import type { IncomingMessage } from 'node:http'
import { ApiError } from '../../../errors.ts'
import { clientAddress, type IpList } from '../../../security/ip-list.ts'
import type { ArrivedRequest } from '../request.ts'

/**
 * Whether a trusted proxy reports that the client uses TLS. If any hop was plain HTTP, the whole route counts as plain.
 */
export function isForwardedSecure(message: IncomingMessage, trusted: IpList): boolean {
  const told = headerText(message, 'x-forwarded-proto')
  if (told === undefined || !trusted.allows(message.socket.remoteAddress ?? '')) return false
  return told.split(',').every((hop) => hop.trim().toLowerCase() === 'https')
}

/** The client's address, found behind the trusted proxies. */
export function findAddress({ address, message }: ArrivedRequest, trusted: IpList): string {
  const found = clientAddress(address, headerText(message, 'x-forwarded-for'), trusted)
  if (found === undefined) throw new ApiError('forbidden', 'X-Forwarded-For is malformed.')
  return found
}

function headerText({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value.join(',') : value
}
