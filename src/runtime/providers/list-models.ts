import { withoutEndingSlashes } from '../../lib/text/text.ts'
import { ModelFailure } from '../models/model.ts'
import { parseObject } from './protocols/read-events.ts'
import { asModelFailure, BadStatus } from './provider-failure.ts'
import { type Provider, urlOf } from './provider-source.ts'

/** A gateway's list of several hundred models has about half of this. */
const MAX_BYTES = 1024 * 1024
const MAX_MODELS = 2_000
const TIMEOUT_MS = 15_000

/** Asks a provider which models it has. Throws ModelFailure. */
export async function listModels(
  provider: Provider,
  fetch: typeof globalThis.fetch,
  now: () => number,
): Promise<string[]> {
  const { name, type } = provider
  const baseUrl = urlOf(provider)
  if (!baseUrl) throw new ModelFailure(`Model provider ${name} has no address`)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const url = `${withoutEndingSlashes(baseUrl)}/models${type === 'anthropic' ? '?limit=1000' : ''}`
    const response = await fetch(url, { headers: headersOf(provider), signal })
    const text = await readText(response, name)
    if (!response.ok) throw new BadStatus(response.status, Object.fromEntries(response.headers), text)
    return idsIn(text, name)
  } catch (error) {
    if (signal.aborted) throw new ModelFailure(`Model provider ${name} did not answer within ${TIMEOUT_MS / 1000} s`)
    throw asModelFailure(error, { provider: name, now, asked: 'the list of models' }, false)
  }
}

function headersOf({ type, apiKey }: Provider): Record<string, string> {
  const accept = { accept: 'application/json' }
  if (type === 'anthropic') return { ...accept, 'x-api-key': apiKey ?? '', 'anthropic-version': '2023-06-01' }
  return apiKey ? { ...accept, authorization: `Bearer ${apiKey}` } : accept
}

async function readText(response: Response, name: string): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    // Leaving the loop cancels the body, which closes the socket.
    if (size > MAX_BYTES) throw new ModelFailure(`The list of models of ${name} is larger than ${MAX_BYTES} bytes`)
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}

/** All three protocols answer with `{ data: [{ id }] }`. */
function idsIn(text: string, name: string): string[] {
  const noList = new ModelFailure(`Model provider ${name} sent something that is not a list of models`)
  let data: unknown
  try {
    data = parseObject(text)['data']
  } catch {
    throw noList
  }
  if (!Array.isArray(data)) throw noList
  const ids = data.slice(0, MAX_MODELS).map((model) => (Object(model) as { id?: unknown }).id)
  // A name that an agent could not have is no use to anybody.
  const usable = ids.filter((id): id is string => typeof id === 'string' && /^[!-~]{1,200}$/.test(id))
  return [...new Set(usable)].toSorted()
}
