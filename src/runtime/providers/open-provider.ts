import { ModelFailure } from '../models/model.ts'
import type { Model } from '../models/model-request.ts'
import { anthropicMessages } from './protocols/anthropic-messages.ts'
import { chatCompletions } from './protocols/chat-completions.ts'
import type { Protocol } from './protocols/protocol.ts'
import { providerModel } from './provider-model.ts'
import { guardedSockets, openSockets, type ProxySettings, type Reach } from './provider-sockets.ts'
import { type Provider, urlOf } from './provider-source.ts'

const PROTOCOLS: Record<Provider['type'], Protocol> = {
  'openai-compatible': chatCompletions('openai-compatible'),
  // Chat completions and not responses, so that the provider stores nothing of the conversation.
  openai: chatCompletions('openai'),
  anthropic: anthropicMessages,
}

type Options = { reach: Reach; proxy?: ProxySettings | undefined; now: () => number }

export type OpenProvider = { model(id: string): Model; close(): Promise<void> }

/** A provider with its connections. */
export function openProvider(provider: Provider, { reach, proxy, now }: Options): OpenProvider {
  const { name, type, apiKey = '', isGuarded } = provider
  const baseUrl = urlOf(provider)
  if (!baseUrl) throw new ModelFailure(`Model provider ${name} has no address`)
  const sockets = isGuarded ? guardedSockets(baseUrl, reach, `provider ${name}`) : openSockets(baseUrl, proxy)
  const connected = { provider: name, apiKey, protocol: PROTOCOLS[type], sockets, now }
  return { model: (id) => providerModel(connected, id), close: () => sockets.close() }
}
