import type { ServerResponse } from 'node:http'
import { readBody, startLocalServer } from './local-server.ts'

export type PlatformRequest = {
  /** `chat.postMessage`, `sendMessage` … */
  method: string
  /** The bot's token, from the header or the URL. */
  token: string
  // Each test asserts the shape itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
  /** The header `Idempotency-Key`. */
  key?: string
}

/** Answers a request. Returns undefined to answer as the platform does. */
export type Mood = (request: PlatformRequest, response: ServerResponse) => unknown

export type ChatPlatform = {
  url: string
  host: string
  /** Everything that it was asked, in order. */
  asked: PlatformRequest[]
  /** The texts that it has accepted, in order. */
  shown(): string[]
  /** From now on, `mood` decides about posted messages. Without it, the platform accepts all. */
  mood(mood?: Mood): void
  close(): Promise<void>
}

/** The last three are the paths of Postmark, Resend and SendGrid. */
const POSTS = new Set(['chat.postMessage', 'sendMessage', 'email', 'emails', 'send'])

/** Slack, Telegram and providers of mail as far as bots see them, with bad moods. All accept calls at the same address. */
export async function startChatPlatform(): Promise<ChatPlatform> {
  const asked: PlatformRequest[] = []
  const shown: string[] = []
  let current: Mood | undefined
  const server = await startLocalServer(async (request, response) => {
    const path = (request.url ?? '').split('/').filter(Boolean)
    const method = path.at(-1) ?? ''
    const ofTelegram = path[0]?.startsWith('bot') ? path[0].slice(3) : undefined
    const { authorization, 'x-postmark-server-token': ofPostmark, 'idempotency-key': key } = request.headers
    const token = ofTelegram ?? String(ofPostmark ?? authorization?.replace('Bearer ', '') ?? '')
    const one = { method, token, body: JSON.parse(await readBody(request)), ...(key && { key: String(key) }) }
    asked.push(one)
    if (POSTS.has(method) && (await current?.(one, response)) !== undefined) return
    if (POSTS.has(method)) shown.push(one.body.text ?? one.body.TextBody ?? one.body.content[0].value)
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"ok":true}')
  })
  return { ...server, asked, shown: () => [...shown], mood: (mood) => void (current = mood) }
}

/** Refuses with this status, headers and body. */
export const refuse =
  (status: number, body: unknown, headers: Record<string, string> = {}): Mood =>
  (_request, response) =>
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
