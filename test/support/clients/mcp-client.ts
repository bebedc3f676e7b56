import type { TestContext } from 'node:test'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Service } from '../service/service.ts'

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const
export type Revision = (typeof REVISIONS)[number]

type ConnectOptions = {
  path?: string
  key?: string
  headers?: Record<string, string>
  options?: ClientOptions
  /** Called for each open stream on which the client is notified of changes. */
  onListening?: () => void
}

/** The official client, connected to the service. */
export async function connectMcp(
  t: TestContext,
  service: Service,
  revision: Revision,
  { path = '/v1/mcp', key = service.admin, headers = {}, options = {}, onListening = () => {} }: ConnectOptions = {},
): Promise<Client> {
  const mode = revision === '2025-11-25' ? 'legacy' : { pin: revision }
  const client = new Client({ name: 'test', version: '1' }, { ...options, versionNegotiation: { mode } })
  const transport = new StreamableHTTPClientTransport(new URL(service.url + path), {
    requestInit: { headers: { Authorization: `Bearer ${key}`, ...headers } },
    async fetch(url, init) {
      const response = await fetch(url, init)
      const isListening = init?.method === 'GET' || String(init?.body).includes('"subscriptions/listen"')
      if (response.ok && isListening) onListening()
      return response
    },
  })
  t.after(() => client.close())
  await client.connect(transport)
  return client
}
