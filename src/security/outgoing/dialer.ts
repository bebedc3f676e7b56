import type { LookupAddress } from 'node:dns'
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import type { buildConnector } from 'undici'
import { explain, GuardedFetchError, type Phase } from './guarded-error.ts'

/** A host's allowed addresses, the number of calls that wait for a socket, and the sockets that are being opened. */
type Line = { addresses: readonly LookupAddress[]; waiting: number; opening: Set<Socket> }

const CONNECT_TIMEOUT_MS = 10_000
/** How long to wait for one address before the next one is also tried. */
const NEXT_ADDRESS_MS = 1_000

/** Opens sockets only to the addresses that were checked for a host. */
export class Dialer {
  readonly #ca: string[] | undefined
  readonly #lines = new Map<string, Line>()

  constructor(ca: string[] | undefined) {
    this.#ca = ca
  }

  /**
   * Registers a call that waits for a socket to `host`. The call must call the returned function once, when it stops
   * waiting. After the last call has stopped, sockets that are still being opened are closed.
   */
  expect(host: string, addresses: readonly LookupAddress[]): () => void {
    const line = this.#lines.get(host) ?? { addresses, waiting: 0, opening: new Set() }
    line.addresses = addresses
    line.waiting += 1
    this.#lines.set(host, line)
    return () => {
      line.waiting -= 1
      if (line.waiting > 0) return
      this.#lines.delete(host)
      for (const socket of line.opening) socket.destroy(new GuardedFetchError('aborted', 'no request waits for it'))
    }
  }

  readonly connect: buildConnector.connector = ({ hostname: host, protocol, port }, callback) => {
    const line = this.#lines.get(host)
    if (!line) return callback(new GuardedFetchError('aborted', 'no request waits for it'), null)
    const isSecure = protocol === 'https:'
    // Returns the addresses that were checked, so the socket doesn't resolve the name a second time.
    const lookup: LookupFunction = (_name, _options, found) => found(null, [...line.addresses])
    const target = {
      host,
      port: Number(port) || (isSecure ? 443 : 80),
      lookup,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
      noDelay: true,
    }
    const socket = isSecure ? connectSecure({ ...target, ...this.#tls(host) }) : connectPlain(target)
    let phase: Phase = 'connect'
    const timer = setTimeout(() => socket.destroy(new Timeout()), CONNECT_TIMEOUT_MS)
    const opened = () => {
      stopWaiting()
      callback(null, socket)
    }
    const failed = (error: Error) => {
      stopWaiting()
      const name = isIP(host) === 6 ? `[${host}]` : host
      callback(explain(error, phase, `${name}:${target.port}`), null)
    }
    const stopWaiting = () => {
      clearTimeout(timer)
      line.opening.delete(socket)
      socket.off('error', failed)
    }
    line.opening.add(socket)
    socket.once('connect', () => (phase = 'tls'))
    socket.once(isSecure ? 'secureConnect' : 'connect', opened)
    socket.once('error', failed)
  }

  #tls(host: string) {
    return {
      ca: this.#ca,
      // Set explicitly, because an environment variable could turn off the certificate check.
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2' as const,
      servername: isIP(host) === 0 ? host : '',
      ALPNProtocols: ['http/1.1'],
    }
  }
}

class Timeout extends Error {
  readonly code = 'ETIMEDOUT'
}
