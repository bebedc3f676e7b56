import type { LookupAddress } from 'node:dns'
import { lookup as systemLookup } from 'node:dns/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIP, type LookupFunction, type TcpNetConnectOpts } from 'node:net'
import { type IpList, ipList } from '../ip-list.ts'
import { abortError, explain, GuardedFetchError, type Phase } from './guarded-error.ts'
import { responseOf } from './guarded-response.ts'
import { allowsAddress, checkUrl, hintTo, type UrlPolicy, urlHost } from './guarded-url.ts'

export type Lookup = (name: string) => Promise<readonly LookupAddress[]>

export interface OutgoingPolicy extends UrlPolicy {
  lookup?: Lookup | undefined
  /** Certificate authorities (PEM) to trust instead of the system's. */
  ca?: string[] | undefined
}

interface GuardedInit extends RequestInit {
  /** Bounds the whole exchange, from DNS to the last byte of the body. */
  timeout_ms?: number | undefined
  /** A longer body ends in an error while it is read. */
  max_bytes?: number | undefined
}

export type GuardedFetch = (input: string | URL | Request, init?: GuardedInit) => Promise<Response>

// The answer to these is ours to give: they frame the message or name the host that was checked.
const OWN_HEADERS = [
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/**
 * `fetch` for addresses that somebody else chose. It reaches public addresses only, resolves a name once and dials an
 * address it has judged, opens a socket per call, and neither follows redirects, uses proxies nor unpacks bodies.
 */
export function guardedFetch(policy: OutgoingPolicy): GuardedFetch {
  const exceptions = ipList(policy.allowedCidrs)
  const hint = hintTo(policy.settings?.allowedCidrs)
  const lookup = policy.lookup ?? ((name) => systemLookup(name, { all: true, order: 'verbatim' }))

  return async (input, { timeout_ms, max_bytes, signal, ...init } = {}) => {
    const text = input instanceof Request ? input.url : String(input)
    const problem = checkUrl(text, policy)
    if (problem) throw new GuardedFetchError(problem.code, problem.message)
    const url = new URL(text)
    const stop = stopOn(signal ?? (input instanceof Request ? input.signal : undefined), timeout_ms)
    try {
      const message = await stop.race(readMessage(input, init))
      const addresses = await stop.race(resolveAllowed(urlHost(url), lookup, exceptions, hint))
      return await exchange({ url, message, addresses, ca: policy.ca, max_bytes, stop })
    } catch (error) {
      stop.release()
      throw error
    }
  }
}

interface Message {
  method: string
  headers: Headers
  body: Uint8Array
}

/** The platform's own Request settles method, headers and every kind of body as `fetch` would. */
async function readMessage(input: string | URL | Request, init: RequestInit): Promise<Message> {
  try {
    const request = new Request(input, { ...init, signal: null })
    const body = new Uint8Array(await request.arrayBuffer())
    const headers = new Headers(request.headers)
    for (const name of OWN_HEADERS) headers.delete(name)
    headers.set('accept-encoding', 'identity')
    if (request.body !== null) headers.set('content-length', String(body.byteLength))
    if (!headers.has('accept')) headers.set('accept', '*/*')
    if (!headers.has('user-agent')) headers.set('user-agent', 'moorage')
    return { method: request.method, headers, body }
  } catch (cause) {
    // The platform's message quotes header values, which may be secrets.
    throw new GuardedFetchError('invalid_request', 'the request has an invalid method, header or body', { cause })
  }
}

async function resolveAllowed(
  host: string,
  lookup: Lookup,
  exceptions: IpList,
  hint: string,
): Promise<LookupAddress[]> {
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  const addresses = await lookup(host).catch((cause: unknown) => {
    throw new GuardedFetchError('dns_failed', `the name ${host} could not be resolved`, { cause })
  })
  if (addresses.length === 0) throw new GuardedFetchError('dns_failed', `the name ${host} has no address`)
  // One private address among public ones is how a rebinding name looks, so a single one spoils the name.
  if (!addresses.every(({ address }) => allowsAddress(address, exceptions))) {
    throw new GuardedFetchError('blocked_address', `the name ${host} points to an address that is not public${hint}`)
  }
  return [...addresses]
}

type DialOptions = https.RequestOptions & Pick<TcpNetConnectOpts, 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>

interface Exchange {
  url: URL
  message: Message
  addresses: LookupAddress[]
  ca: string[] | undefined
  max_bytes: number | undefined
  stop: Stop
}

function exchange({ url, message, addresses, ca, max_bytes, stop }: Exchange): Promise<Response> {
  const { promise, resolve, reject } = Promise.withResolvers<Response>()
  const host = urlHost(url)
  const secure = url.protocol === 'https:'
  // The hook hands over what was judged before, so the socket never resolves the name a second time.
  const judged: LookupFunction = (_name, _options, callback) => callback(null, addresses)
  // Said outright, because the environment could switch the check of certificates off.
  const tls = { rejectUnauthorized: true, minVersion: 'TLSv1.2', ca } as const
  const options: DialOptions = {
    ...(secure && tls),
    host,
    port: url.port || (secure ? 443 : 80),
    path: url.pathname + url.search,
    method: message.method,
    headers: Object.fromEntries(message.headers),
    agent: false,
    lookup: judged,
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: 1000,
  }
  const request = (secure ? https : http).request(options)

  let phase: Phase = 'connect'
  request.once('socket', (socket) => {
    socket.once('connect', () => (phase = secure ? 'tls' : 'exchange'))
    socket.once('secureConnect', () => (phase = 'exchange'))
  })
  const explained = (error: unknown) => explain(error, phase, host)
  request.once('response', (incoming) => {
    try {
      resolve(responseOf(incoming, { max_bytes, signal: stop.signal, explained, hangUp: () => request.destroy() }))
    } catch (error) {
      request.destroy()
      reject(error)
    }
  })
  request.on('error', (error) => reject(explained(error)))
  request.once('close', () => {
    stop.release()
    // Some endings raise no error of their own, such as an answer that switches protocols.
    reject(explained(undefined))
  })
  stop.signal.addEventListener('abort', () => request.destroy(stop.signal.reason))
  request.end(message.body)
  return promise
}

interface Stop {
  /** Aborted by the caller or by the clock, with the error to report. */
  signal: AbortSignal
  race<T>(work: Promise<T>): Promise<T>
  release(): void
}

function stopOn(outer: AbortSignal | null | undefined, timeout_ms: number | undefined): Stop {
  const controller = new AbortController()
  const { signal } = controller
  const onAbort = () => controller.abort(abortError(outer?.reason))
  const onTimeout = () => controller.abort(new GuardedFetchError('timeout', `no full answer within ${timeout_ms} ms`))
  const timer = timeout_ms === undefined ? undefined : setTimeout(onTimeout, timeout_ms)
  outer?.addEventListener('abort', onAbort, { once: true })
  if (outer?.aborted) onAbort()
  return {
    signal,
    race: (work) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) reject(signal.reason)
        signal.addEventListener('abort', () => reject(signal.reason))
        work.then(resolve, reject)
      }),
    release() {
      clearTimeout(timer)
      outer?.removeEventListener('abort', onAbort)
    },
  }
}
