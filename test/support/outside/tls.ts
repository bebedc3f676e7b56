import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import * as https from 'node:https'
import type { TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { checkReply } from '../clients/openapi.ts'
import type { Settings } from '../service/service.ts'

export function tlsFile(name: string): string {
  return fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
}

export function tlsText(name: string): string {
  return readFileSync(tlsFile(name), 'utf8')
}

export const TLS_SETTINGS: Settings = {
  MOORAGE_SERVER__TLS__CERT: tlsFile('server.pem'),
  MOORAGE_SERVER__TLS__KEY: tlsFile('server-key.pem'),
}

export type TlsOptions = {
  key?: string | null
  body?: unknown
  headers?: Record<string, string>
  /** A certificate of the fixtures, such as `client`. */
  certificate?: string | undefined
  /** The session of an earlier connection. */
  session?: Buffer | undefined
  maxVersion?: 'TLSv1.2' | 'TLSv1.3'
  /** Keeps its connection for the next call. */
  agent?: https.Agent
}

export type TlsReply = {
  status: number
  headers: Headers
  // Each test asserts the shape itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
  /** What the server sent for resuming. Undefined if it sent nothing. */
  session: Buffer | undefined
  resumed: boolean
  /** The server's name in its certificate. */
  server: string
}

/** Makes one request over TLS, trusting the test authority, on a separate connection unless an agent keeps one. */
export function tlsCall(url: string, method: string, path: string, options: TlsOptions = {}): Promise<TlsReply> {
  const { key = null, body, headers: own = {}, certificate, session, maxVersion = 'TLSv1.3', agent } = options
  return new Promise((resolve, reject) => {
    let given: Buffer | undefined
    const request = https.request(url + path, {
      method,
      agent: agent ?? false,
      ca: tlsText('ca.pem'),
      ...(certificate && { cert: tlsText(`${certificate}.pem`), key: tlsText(`${certificate}-key.pem`) }),
      ...(session && { session }),
      maxVersion,
      headers: {
        ...(key !== null && { Authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...own,
      },
    })
    request.on('socket', (socket) => {
      socket.on('session', (bytes: Buffer) => {
        given = bytes
      })
    })
    request.on('error', reject)
    const read = async (response: IncomingMessage): Promise<TlsReply> => {
      const socket = response.socket as TLSSocket
      const resumed = socket.isSessionReused()
      const server = socket.getPeerX509Certificate()?.fingerprint256 ?? ''
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const text = Buffer.concat(chunks).toString()
      const headers = new Headers(response.headers as Record<string, string>)
      const reply = { status: response.statusCode ?? 0, headers, text, body: JSON.parse(text) }
      checkReply(method, path, reply)
      return { ...reply, session: given, resumed, server }
    }
    request.on('response', (response) => read(response).then(resolve, reject))
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
