import type { Fetch } from '../../../sdk/request.ts'
import { isLoopback } from '../../lib/loopback.ts'
import type { World } from '../world.ts'

/** The proxies given by the environment. */
export function proxiesOf({ env }: Pick<World, 'env'>) {
  return {
    http: env['http_proxy'] || env['HTTP_PROXY'],
    https: env['https_proxy'] || env['HTTPS_PROXY'],
    except: env['no_proxy'] || env['NO_PROXY'],
  }
}

/**
 * Sends requests through the proxy given by the environment, as other programs do. Requests to this machine and to the
 * hosts in NO_PROXY are sent directly.
 */
export function proxiedFetch(world: Pick<World, 'env'>): Fetch {
  const { http = '', https = '', except = '' } = proxiesOf(world)
  if (!http && !https) return fetch
  const proxies = { httpProxy: http, httpsProxy: https, noProxy: except }
  const loaded = import('undici').then((undici) => ({ ...undici, dispatcher: new undici.EnvHttpProxyAgent(proxies) }))
  return async (url, init) => {
    if (isLoopback(new URL(url).hostname)) return fetch(url, init)
    const { fetch: fetchThrough, dispatcher } = await loaded
    return fetchThrough(url, { ...(init as object), dispatcher }) as unknown as Promise<Response>
  }
}
