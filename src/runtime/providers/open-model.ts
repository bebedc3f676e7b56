import type { LanguageModel } from '../models/language-model.ts'
import { ModelFailure } from '../models/model.ts'
import { type Provider, VENDOR_URLS } from './provider-source.ts'

/** Packages are loaded on first use. */
export async function openModel(
  provider: Provider,
  id: string,
  fetch: typeof globalThis.fetch,
): Promise<LanguageModel> {
  const { name, type, baseUrl, apiKey = '' } = provider
  if (type === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    return createAnthropic({ baseURL: baseUrl ?? VENDOR_URLS.anthropic, apiKey, fetch })(id)
  }
  if (type === 'openai') {
    const { createOpenAI } = await import('@ai-sdk/openai')
    // Chat completions and not responses, so that the provider stores nothing of the conversation.
    return createOpenAI({ baseURL: baseUrl ?? VENDOR_URLS.openai, apiKey, name, fetch }).chat(id)
  }
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  if (!baseUrl) throw new ModelFailure(`Model provider ${name} has no address`)
  return createOpenAICompatible({
    name,
    baseURL: baseUrl,
    includeUsage: true,
    // The schema of an answer is sent as such. Without this, servers would hear only that JSON is wanted.
    supportsStructuredOutputs: true,
    fetch,
    ...(apiKey === '' ? {} : { apiKey }),
  }).chatModel(id)
}
