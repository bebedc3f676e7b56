import { ModelFailure } from '../models/model.ts'
import type { Model, ModelServer } from '../models/model-request.ts'
import { anthropicMessages } from './protocols/anthropic-messages.ts'
import { chatCompletions } from './protocols/chat-completions.ts'
import type { Protocol } from './protocols/protocol.ts'
import { providerModel } from './provider-model.ts'
import {
  guardedSockets,
  openSockets,
  type ProviderSockets,
  type ProxySettings,
  type Reach,
} from './provider-sockets.ts'
import { type Provider, urlOf } from './provider-source.ts'

const PROTOCOLS: Record<Provider['type'], Protocol> = {
  'openai-compatible': chatCompletions('openai-compatible'),
  // Chat completions, not responses, so that the provider doesn't store the conversation.
  openai: chatCompletions('openai'),
  anthropic: anthropicMessages,
}

export type ProviderOptions = { reach: Reach; proxy?: ProxySettings | undefined; now: () => number }

export type OpenProvider = { model(id: string): Model; close(): Promise<void> }

/** A provider with its connections. */
export function openProvider(provider: Provider, options: ProviderOptions): OpenProvider {
  const { name, type, apiKey = '', vision, cache: caches = true } = provider
  const sockets = socketsOf(provider, options)
  const server = serverOf(urlOf(provider) ?? '')
  const protocol = PROTOCOLS[type]
  const connected = { provider: name, server, apiKey, vision, caches, protocol, sockets, now: options.now }
  return { model: (id) => providerModel(connected, id), close: () => sockets.close() }
}

/** Opens the only way to a provider: through the operator's proxy, or guarded if an API client chose the URL. */
export function socketsOf(provider: Provider, { reach, proxy }: Omit<ProviderOptions, 'now'>): ProviderSockets {
  const { name, isGuarded } = provider
  const baseUrl = urlOf(provider)
  if (!baseUrl) throw new ModelFailure(`Model provider ${name} has no base_url.`)
  return isGuarded ? guardedSockets(baseUrl, reach, `provider ${name}`) : openSockets(baseUrl, proxy)
}

/** The server's name in traces, ignoring any proxy. */
function serverOf(baseUrl: string): ModelServer {
  const { hostname: address, port, protocol } = new URL(baseUrl)
  return { address, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}
