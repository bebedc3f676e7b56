import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { allEvents, type SseEvent } from '../clients/sse.ts'
import type { Reply, Service } from '../service/service.ts'

export type Link = { id: string; url: string; budget_id: string | null }

export async function createLink(service: Service, agent: string, body: object = {}): Promise<Link> {
  const reply = await service.call('POST', `/v1/agents/${agent}/links`, { body })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.data
}

type Asked = { method?: string; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal }

/** A visitor's browser: it keeps its cookie, and sends what the chat's page sends. */
export class VisitorBrowser {
  cookie = ''
  readonly #chat: string

  constructor(service: Pick<Service, 'url'>, { url }: Pick<Link, 'url'>) {
    this.#chat = service.url + url
  }

  async fetch(path: string, { method = 'GET', body, headers, signal }: Asked = {}): Promise<Response> {
    const response = await fetch(this.#chat + path, {
      method,
      headers: {
        'X-Moorage-Chat': '1',
        ...(this.cookie && { Cookie: this.cookie }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    const [given] = response.headers.getSetCookie()
    if (given) this.cookie = given.slice(0, given.indexOf(';'))
    return response
  }

  async call(path: string, asked: Asked = {}): Promise<Reply> {
    const response = await this.fetch(path, asked)
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) }
  }

  say(message: string, more: object = {}, key: string = randomUUID()): Promise<Reply> {
    return this.call('/messages', { method: 'POST', body: { message, ...more }, headers: { 'Idempotency-Key': key } })
  }

  async hear(message: string, more: object = {}): Promise<SseEvent[]> {
    const headers = { Accept: 'text/event-stream', 'Idempotency-Key': randomUUID() }
    const response = await this.fetch('/messages', { method: 'POST', body: { message, ...more }, headers })
    assert.equal(response.status, 200)
    return allEvents(response)
  }
}
