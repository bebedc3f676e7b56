import type { Fetch } from '../../../sdk/request.ts'
import { isLoopback } from '../../lib/loopback.ts'
import type { World } from '../world.ts'

/**
 * Asks through the proxy that the environment names, as other programs do. This machine is asked directly, and so are
 * the hosts of NO_PROXY.
 */
export function proxiedFetch({ env }: Pick<World, 'env'>): Fetch {
  const proxies = {
    httpProxy: env['http_proxy'] || env['HTTP_PROXY'] || '',
    httpsProxy: env['https_proxy'] || env['HTTPS_PROXY'] || '',
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
  }
  if (!proxies.httpProxy && !proxies.httpsProxy) return fetch
  const loaded = import('undici').then((undici) => ({ ...undici, dispatcher: new undici.EnvHttpProxyAgent(proxies) }))
  return async (url, init) => {
    if (isLoopback(new URL(url).hostname)) return fetch(url, init)
    const { fetch: fetchThrough, dispatcher } = await loaded
    return fetchThrough(url, { ...(init as object), dispatcher }) as unknown as Promise<Response>
  }
}
