import type { LookupAddress } from 'node:dns'
import { isIP } from 'node:net'
import { setImmediate as nextPass } from 'node:timers/promises'
import type { Agent, Dispatcher } from 'undici'
import { lazilyInTurn, PARTS_OF_UNDICI } from '../../lib/lazily.ts'
import { type IpList, ipList } from '../ip-list.ts'
import { Dialer } from './dialer.ts'
import { explain, GuardedFetchError } from './guarded-error.ts'
import { allowsAddress, checkUrl, hintTo, type UrlPolicy, urlHost } from './guarded-url.ts'
import { Names } from './names.ts'
import { Stop } from './stop.ts'

const undici = lazilyInTurn<typeof import('undici')>(...PARTS_OF_UNDICI, 'undici')

export interface OutgoingPolicy extends UrlPolicy {
  /** Finds a name's addresses, instead of the hosts file and DNS. */
  lookup?: ((name: string) => Promise<readonly LookupAddress[]>) | undefined
  /** Name servers to use instead of the system's, as `address:port`. */
  nameservers?: readonly string[] | undefined
  /** Certificate authorities (PEM) to trust instead of the system's. */
  ca?: string[] | undefined
}

interface GuardedInit extends RequestInit {
  /** The time limit for the whole exchange, from DNS to the last byte of the body. */
  timeout_ms?: number | undefined
  /** The most bytes of a body. Reading a longer body fails. */
  max_bytes?: number | undefined
  /**
   * The owner on whose behalf the call is made. Names that resolve slowly delay only other calls of the same owner. The
   * default is the host.
   */
  owner?: string | undefined
}

export type GuardedFetch = (input: string | URL | Request, init?: GuardedInit) => Promise<Response>

// Callers can't set these headers, because they frame the message or name the host that was checked.
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

/** Shorter than most servers keep a connection open, so that no request uses a socket that is just being closed. */
const IDLE_SOCKET_MS = 4_000
const LONGEST_IDLE_SOCKET_MS = 30_000

/**
 * `fetch` for URLs that other people choose. It reaches only public addresses. It resolves and checks a name for every
 * call, and connects only to an address that it has checked. It doesn't follow redirects, use proxies or decompress
 * bodies.
 */
export class GuardedClient {
  readonly #policy: OutgoingPolicy
  readonly #exceptions: IpList
  readonly #names: Names
  readonly #dialer: Dialer
  #agent: Promise<Agent> | undefined

  constructor(policy: OutgoingPolicy) {
    this.#policy = policy
    this.#exceptions = ipList(policy.allowedCidrs)
    this.#names = new Names({ nameservers: policy.nameservers })
    this.#dialer = new Dialer(policy.ca)
  }

  /**
   * Returns connections to a URL after checking its address. They are for one request, which must call `release` when
   * it ends. This is for replies with many small pieces, for which a stream in between would cost too much.
   */
  async reach(address: string, { owner, signal }: { owner?: string | undefined; signal: AbortSignal }) {
    const problem = checkUrl(address, this.#policy)
    if (problem) throw new GuardedFetchError(problem.code, `the URL ${problem.message}`)
    const url = new URL(address)
    const host = urlHost(url)
    const dispatcher = await this.#opened()
    const stop = new Stop(signal, undefined)
    const addresses = await stop.race(this.#resolve(host, owner ?? host, stop.signal)).finally(() => stop.release())
    return { url, dispatcher, release: this.#dialer.expect(host, addresses) }
  }

  readonly fetch: GuardedFetch = async (input, { timeout_ms, max_bytes, signal, owner, ...init } = {}) => {
    const address = input instanceof Request ? input.url : String(input)
    await this.#opened()
    const stop = new Stop(signal ?? (input instanceof Request ? input.signal : undefined), timeout_ms)
    try {
      const { url, dispatcher, release } = await this.reach(address, { owner, signal: stop.signal })
      const send = async () => {
        const message = await stop.race(readMessage(input, init))
        return exchange(dispatcher, { url, ...message, max_bytes, stop })
      }
      return await send().finally(release)
    } catch (error) {
      stop.release()
      throw error
    }
  }

  /** Ends all calls in progress. */
  async close(): Promise<void> {
    await (await this.#agent)?.destroy()
  }

  /** Loads undici at the first call, before its time limit starts, because many services never make a call. */
  #opened(): Promise<Agent> {
    this.#agent ??= this.#open()
    return this.#agent
  }

  async #open(): Promise<Agent> {
    // Node loads its own Request when it is first used. This gives that work its own pass of the event loop.
    void globalThis.Request
    await nextPass()
    const { Agent: HttpAgent } = await undici()
    return new HttpAgent({
      connect: this.#dialer.connect,
      allowH2: false,
      keepAliveTimeout: IDLE_SOCKET_MS,
      keepAliveMaxTimeout: LONGEST_IDLE_SOCKET_MS,
      // The call has its own time limits.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }

  async #resolve(host: string, owner: string, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    const family = isIP(host)
    if (family !== 0) return [{ address: host, family }]
    const lookup = this.#policy.lookup ?? ((name) => this.#names.resolve(name, { owner, signal }))
    const addresses = await lookup(host).catch((cause: unknown) => {
      throw new GuardedFetchError('dns_failed', `the host name ${host} could not be resolved`, { cause })
    })
    if (addresses.length === 0) throw new GuardedFetchError('dns_failed', `the host name ${host} has no address`)
    // A name with both public and private addresses looks like DNS rebinding, so one private address is enough to
    // refuse the name.
    if (!addresses.every(({ address }) => allowsAddress(address, this.#exceptions))) {
      const hint = hintTo('it', this.#policy.settings?.allowedCidrs)
      throw new GuardedFetchError(
        'blocked_address',
        `the host name ${host} points to an address that is not public${hint}`,
      )
    }
    return addresses
  }
}

/** Reads the method, headers and body as `fetch` would, with Node's own Request. */
async function readMessage(input: string | URL | Request, init: RequestInit) {
  try {
    const request = new Request(input, { ...init, signal: null })
    const body = request.body === null ? null : new Uint8Array(await request.arrayBuffer())
    const headers = new Headers(request.headers)
    for (const name of OWN_HEADERS) headers.delete(name)
    headers.set('accept-encoding', 'identity')
    if (!headers.has('accept')) headers.set('accept', '*/*')
    if (!headers.has('user-agent')) headers.set('user-agent', 'moorage')
    return { method: request.method, headers: Object.fromEntries(headers), body }
  } catch (cause) {
    // Node's own message contains header values, which may be secrets.
    throw new GuardedFetchError('invalid_request', 'the request has an invalid method, header or body', { cause })
  }
}

type Exchange = {
  url: URL
  method: string
  headers: Record<string, string>
  body: Uint8Array | null
  max_bytes: number | undefined
  stop: Stop
}

type Answer = Dispatcher.ResponseData

const NO_BODY = new Set([204, 205, 304])

/** Sends one request. Resolves with a standard Response whose body is still arriving. */
async function exchange(agent: Agent, { url, method, max_bytes, stop, ...message }: Exchange): Promise<Response> {
  const host = urlHost(url)
  const origin = `${url.protocol}//${host.includes(':') ? `[${host}]` : host}${url.port && `:${url.port}`}`
  const path = url.pathname + url.search
  const request = { ...message, origin, path, method: method as Dispatcher.HttpMethod, signal: stop.signal }
  const answer = await stop.race(agent.request(request)).catch((error: unknown) => {
    throw explain(error, 'head', host)
  })
  answer.body.on('error', () => {})
  answer.body.once('close', () => stop.release())
  try {
    return responseOf(answer, host, max_bytes)
  } catch (cause) {
    answer.body.destroy()
    throw new GuardedFetchError('invalid_response', 'the response has an invalid status or header', { cause })
  }
}

function responseOf(answer: Answer, host: string, max_bytes: number | undefined): Response {
  const { statusCode: status, statusText } = answer
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(answer.headers)) {
    for (const value of [values].flat()) headers.append(name, value)
  }
  const hasBody = !NO_BODY.has(status)
  const response = new Response(hasBody ? streamOf(answer, host, max_bytes) : null, { status, statusText, headers })
  if (!hasBody) answer.body.resume()
  return response
}

function streamOf({ body }: Answer, host: string, max_bytes = Infinity): ReadableStream<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]()
  let received = 0
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next().catch((error: unknown) => {
          throw explain(error, 'body', host)
        })
        if (next.done) return controller.close()
        received += next.value.byteLength
        if (received > max_bytes) {
          body.destroy()
          throw new GuardedFetchError('too_large', `the response is longer than ${max_bytes} bytes`)
        }
        controller.enqueue(next.value)
      },
      cancel: () => void body.destroy(),
    },
    { highWaterMark: 0 },
  )
}
