import { Role, type SendMessageRequest, type TaskPushNotificationConfig } from '@a2a-js/sdk'
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import type { Service } from '../service/service.ts'
import { PUBLIC_URL } from '../slices/connections.ts'

/** The official client for an agent. It reads the agent's card first. */
export function connectA2a(
  service: Service,
  agent: string,
  { key = service.admin, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
): Promise<Client> {
  const fetchImpl: typeof fetch = (url, init) => {
    const all = new Headers(init?.headers)
    all.set('Authorization', `Bearer ${key}`)
    for (const [name, value] of Object.entries(headers)) all.set(name, value)
    // The card names the public URL, at which no test listens.
    return fetch(String(url).replace(PUBLIC_URL, service.url), { ...init, headers: all })
  }
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  return factory.createFromUrl(`${service.url}/v1/agents/${agent}/.well-known/agent-card.json`, '')
}

type More = {
  contextId?: string
  taskId?: string
  returnImmediately?: boolean
  push?: TaskPushNotificationConfig
}

/** A user's message, as the client sends it. */
export function saying(text: string, { contextId = '', taskId = '', returnImmediately = false, push }: More = {}) {
  const part = { content: { $case: 'text', value: text } as const, metadata: undefined, filename: '', mediaType: '' }
  const request: SendMessageRequest = {
    tenant: '',
    metadata: undefined,
    message: {
      messageId: crypto.randomUUID(),
      contextId,
      taskId,
      role: Role.ROLE_USER,
      parts: [part],
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: push, returnImmediately },
  }
  return request
}
