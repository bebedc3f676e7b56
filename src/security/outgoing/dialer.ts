import type { LookupAddress } from 'node:dns'
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectSecure } from 'node:tls'
import type { buildConnector } from 'undici'
import { explain, GuardedFetchError, type Phase } from './guarded-error.ts'

/** Calls that wait for a socket to a host, the addresses they may reach, and the sockets that are being opened. */
type Line = { addresses: readonly LookupAddress[]; waiting: number; opening: Set<Socket> }

const CONNECT_TIMEOUT_MS = 10_000
/** How long an address may take before the next one is tried beside it. */
const NEXT_ADDRESS_MS = 1_000

/** Opens sockets to the addresses that were judged for a host, and to no others. */
export class Dialer {
  readonly #ca: string[] | undefined
  readonly #lines = new Map<string, Line>()

  constructor(ca: string[] | undefined) {
    this.#ca = ca
  }

  /**
   * A call begins to wait for a socket to `host`, until it calls, once, the function that is returned. When the last one has
   * stopped waiting, what is still being opened is closed.
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
      for (const socket of line.opening) socket.destroy(new GuardedFetchError('aborted', 'nobody waits for it'))
    }
  }

  readonly connect: buildConnector.connector = ({ hostname: host, protocol, port }, callback) => {
    const line = this.#lines.get(host)
    if (!line) return callback(new GuardedFetchError('aborted', 'nobody waits for it'), null)
    const isSecure = protocol === 'https:'
    // The hook hands over what was judged before, so the socket never resolves the name a second time.
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
      callback(explain(error, phase, host), null)
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
      // Said outright, because the environment could switch the check of certificates off.
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
