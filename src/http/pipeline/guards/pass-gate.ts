import type { X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { ApiError, forbidden } from '../../../errors.ts'
import type { Gate } from '../../../security/gate.ts'
import type { ArrivedRequest } from '../request.ts'

/** Checks what the service, or one agent, requires of a connection: HTTPS, a listed address, a client certificate. */
export function passGate(arrived: ArrivedRequest, gate: Gate, time: number): void {
  const refusal = refusalOf(arrived, gate, time)
  if (refusal) throw refusal
}

export function passesGate(arrived: ArrivedRequest, gate: Gate, time: number): boolean {
  return refusalOf(arrived, gate, time) === undefined
}

function refusalOf(arrived: ArrivedRequest, { connection }: Gate, time: number): ApiError | undefined {
  if (!connection) return undefined
  const { https, addresses, certificate } = connection
  if (https && !arrived.secure) {
    return new ApiError(
      'https_required',
      'HTTPS is required. This request was sent in plain text: if it contained a key, rotate that key.',
    )
  }
  if (addresses && !addresses.allows(arrived.address)) return forbidden('Your IP address is not on the allowlist.')
  if (!certificate) return undefined
  const peer = peerCertificate(arrived.message.socket)
  if (!peer) return forbidden('A client certificate is required.')
  return certificate(peer, time) ? undefined : forbidden('This client certificate is not accepted.')
}

/** Browsers remember one HSTS duration for the whole host, so the longer of the agent's and the service's is sent. */
export function promiseHttps({ secure, headers }: ArrivedRequest, hsts: number): void {
  if (!secure) return
  const name = 'Strict-Transport-Security'
  const promised = Number(/\d+/.exec(headers[name] ?? '')?.[0] ?? 0)
  headers[name] = `max-age=${Math.max(hsts, promised)}`
}

const certificates = new WeakMap<Socket, X509Certificate>()

/**
 * The certificate whose key the client proved to have on this connection. A resumed session proves nothing, so it
 * counts as having no certificate. The server never resumes sessions.
 */
function peerCertificate(socket: Socket): X509Certificate | undefined {
  const known = certificates.get(socket)
  if (known) return known
  const tls = socket as TLSSocket
  if (!tls.encrypted || tls.isSessionReused()) return undefined
  const certificate = tls.getPeerX509Certificate()
  if (certificate) certificates.set(socket, certificate)
  return certificate
}
