import type { Fetch } from '../../../sdk/request.ts'
import { isLoopback } from '../../lib/loopback.ts'
import type { World } from '../world.ts'

/** The proxies that the environment names. */
export function proxiesOf({ env }: Pick<World, 'env'>) {
  return {
    http: env['http_proxy'] || env['HTTP_PROXY'],
    https: env['https_proxy'] || env['HTTPS_PROXY'],
    except: env['no_proxy'] || env['NO_PROXY'],
  }
}

/**
 * Asks through the proxy that the environment names, as other programs do. This machine is asked directly, and so are
 * the hosts of NO_PROXY.
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
