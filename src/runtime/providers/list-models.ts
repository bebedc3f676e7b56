import { ModelFailure } from '../models/model.ts'
import { type ProviderOptions, socketsOf } from './open-provider.ts'
import { parseObject } from './protocols/read-events.ts'
import { asModelFailure, BadStatus } from './provider-failure.ts'
import type { Provider } from './provider-source.ts'
import { ReplyTooLarge, wholeReply } from './whole-reply.ts'

/** A gateway's list of several hundred models is about half this size. */
const MAX_BYTES = 1024 * 1024
const MAX_MODELS = 2_000
const TIMEOUT_MS = 15_000

/** Asks a provider which models it has. Throws ModelFailure. */
export async function listModels(provider: Provider, options: ProviderOptions): Promise<string[]> {
  const { name, type } = provider
  const sockets = socketsOf(provider, options)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const request = { method: 'GET' as const, path: '/models', headers: headersOf(provider), signal }
  try {
    const asked = type === 'anthropic' ? { ...request, query: 'limit=1000' } : request
    const { status, headers, text } = await wholeReply(sockets, asked, MAX_BYTES)
    if (status < 200 || status > 299) throw new BadStatus(status, headers, text)
    return idsIn(text, name)
  } catch (error) {
    if (signal.aborted) throw new ModelFailure(`Model provider ${name} did not answer within ${TIMEOUT_MS / 1000} s.`)
    if (error instanceof ReplyTooLarge) {
      throw new ModelFailure(`Model provider ${name} returned a list of models larger than ${MAX_BYTES} bytes.`)
    }
    throw asModelFailure(error, { provider: name, now: options.now, asked: 'a list of models' }, false)
  } finally {
    await sockets.close()
  }
}

function headersOf({ type, apiKey }: Provider): Record<string, string> {
  const accept = { accept: 'application/json' }
  if (type === 'anthropic') return { ...accept, 'x-api-key': apiKey ?? '', 'anthropic-version': '2023-06-01' }
  return apiKey ? { ...accept, authorization: `Bearer ${apiKey}` } : accept
}

/** All three protocols answer with `{ data: [{ id }] }`. */
function idsIn(text: string, name: string): string[] {
  const noList = new ModelFailure(`Model provider ${name} returned something that is not a list of models.`)
  let data: unknown
  try {
    data = parseObject(text)['data']
  } catch {
    throw noList
  }
  if (!Array.isArray(data)) throw noList
  const ids = data.slice(0, MAX_MODELS).map((model) => (Object(model) as { id?: unknown }).id)
  // An agent can't use a model with any other name.
  const usable = ids.filter((id): id is string => typeof id === 'string' && /^[!-~]{1,200}$/.test(id))
  return [...new Set(usable)].toSorted()
}
