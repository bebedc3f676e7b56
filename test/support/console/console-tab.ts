import assert from 'node:assert/strict'
import { type IncomingMessage, request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { checkReply } from '../clients/openapi.ts'
import type { Reply, Service } from '../service/service.ts'

type TabRequest = { body?: unknown; headers?: Record<string, string | undefined> }

/** Each value of each header, because a reply may set several cookies. */
function allOf({ headersDistinct }: IncomingMessage): [string, string][] {
  return Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
}

/** A browser tab that shows the console: it keeps its cookie and sends the headers that browsers send. */
export class ConsoleTab {
  readonly #service: () => Service
  /** The headers that the browser, and our script in it, send with every request. */
  headers: Record<string, string>
  /** As `name=value`. Empty if there is none. */
  cookie = ''
  /** The cookie of the last reply that set one, with its attributes. */
  setCookie = ''

  constructor(service: () => Service, headers: Record<string, string> = {}) {
    this.#service = service
    this.headers = { 'Sec-Fetch-Site': 'same-origin', 'X-Moorage-Console': '1', ...headers }
  }

  async ask(method: string, path: string, { body, headers = {} }: TabRequest = {}): Promise<Reply> {
    const url = new URL(path, this.#service().url)
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const all = {
      ...this.headers,
      ...(this.cookie && { Cookie: this.cookie }),
      ...(text !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
      ...headers,
    }
    const given = Object.entries(all).filter(([, value]) => value !== undefined)
    const reply = await new Promise<Reply>((resolve, reject) => {
      const asked = request(url, { method, headers: Object.fromEntries(given) as Record<string, string>, agent: false })
      asked.on('error', reject)
      asked.on('response', (response) => {
        buffer(response).then((bytes) => {
          const said = bytes.toString()
          const isJson = response.headers['content-type']?.startsWith('application/json') && said !== ''
          resolve({
            status: response.statusCode ?? 0,
            headers: new Headers(allOf(response)),
            text: said,
            body: isJson ? JSON.parse(said) : undefined,
          })
        }, reject)
      })
      asked.end(text)
    })
    checkReply(method, path, reply)
    const [set] = reply.headers.getSetCookie()
    if (set !== undefined) this.#keep(set)
    return reply
  }

  async signIn(key: string): Promise<Reply> {
    const reply = await this.ask('POST', '/console/session', { body: { key } })
    assert.equal(reply.status, 201, reply.text)
    return reply
  }

  /** Whether the cookie still signs the tab in. */
  async isIn(): Promise<boolean> {
    const { body } = await this.ask('GET', '/console/session')
    return body.data.signed_in
  }

  #keep(set: string): void {
    this.setCookie = set
    this.cookie = set.includes('Max-Age=0') ? '' : (set.split(';')[0] as string)
  }
}
