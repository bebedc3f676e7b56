import { randomBytes } from 'node:crypto'
import { ApiError, forbidden } from '../../../errors.ts'
import type { CountRun } from '../../../operation/context.ts'
import { sha256 } from '../../../security/digest.ts'
import { addressBucket } from '../../../security/ip-list.ts'
import type { Visitor } from '../../dialects/dialect.ts'
import { cookieLine, cookieName, cookieValues } from '../../input/cookies.ts'
import type { ArrivedRequest, IdentifiedRequest, VerifiedKey } from '../request.ts'
import type { FailureLimit } from './failure-limit.ts'

/** A link that opens a chat, as its token names it. */
export type OpenLink = {
  id: string
  key: { readonly hash: string; readonly verified: VerifiedKey }
  origins: ReadonlySet<string>
  agent_id: string
  environment: string
  mayDecide(user_id: string, session_id: string): boolean
}

/** What the page of a link shows before the first message. */
export type ShownChat = { title: string; welcome: string | null; starters: readonly string[] }

export type Links = {
  /** Undefined if the link is unknown, deleted or expired. */
  find(token: string): Promise<OpenLink | undefined>
  /** Whether the token belongs to a link that has expired. */
  hasExpired(token: string): Promise<boolean>
  show(link: OpenLink): Promise<ShownChat>
  /** Checks a message before it is read: throws if the chat isn't available, or if the visitor sends too fast. */
  checkMessage(visitor: Visitor, address: string): Promise<void>
  /** Counts the run of a visitor's message when the run is stored. */
  runCounter(visitor: Visitor, request_id: string): CountRun
}

/** A header that a page of another origin can't send: the browser would ask us first. */
const HEADER = 'x-moorage-chat'
const NAME = 'moorage-chat'
const TOKEN = /^[\w-]{32}$/
const SECRET = /^[\w-]{43}$/
/** How long a browser keeps a visitor's cookie after the last visit. */
const COOKIE_SECONDS = 180 * 86_400

type VisitorNeeds = { links: Links; failures: FailureLimit }

/** The visitor who sends a request to a link's chat. They act with the link's key, and only for themselves. */
export async function identifyVisitor(arrived: ArrivedRequest, needs: VisitorNeeds): Promise<IdentifiedRequest> {
  const link = await getLink(arrived, needs)
  if (!mayCall(arrived, link)) throw forbidden("This page isn't allowed to use this chat.")
  if (arrived.message.headers[HEADER] !== '1') throw forbidden('Requests to a chat need the header X-Moorage-Chat: 1.')
  const { id: link_id, agent_id, environment } = link
  const user_id = userOf(link_id, readVisitor(arrived) ?? setVisitor(arrived))
  const { actor: ofLink } = link.key.verified
  const mayDecide = (session_id: string) => link.mayDecide(user_id, session_id)
  const actor = { ...ofLink, scope: { ...ofLink.scope, user_id } }
  arrived.key = link.key
  arrived.visitor = { link_id, user_id, agent_id, environment, mayDecide }
  arrived.trace.actor = actor
  return { arrived, actor }
}

/** The link whose token is in the path. Guessed tokens are limited like guessed keys. */
export async function getLink(arrived: ArrivedRequest, { links, failures }: VisitorNeeds): Promise<OpenLink> {
  const bucket = addressBucket(arrived.address)
  failures.refuseBlocked(bucket)
  const { token = '' } = arrived.params
  const link = TOKEN.test(token) ? await links.find(token) : undefined
  if (link) return link
  await failures.count(bucket)
  throw noChat()
}

function noChat(): ApiError {
  return new ApiError('not_found', "This chat doesn't exist, or it has ended.")
}

/** Checks a visitor's message before its body is read. */
export async function checkMessage(
  { links }: Pick<VisitorNeeds, 'links'>,
  { visitor, address }: ArrivedRequest,
): Promise<void> {
  if (visitor) await links.checkMessage(visitor, addressBucket(address))
}

/**
 * Whether the page that sends the request may do so: the chat's own, or one of an origin that the link lists. The latter
 * may read the reply, and its browser sends the visitor's cookie.
 */
export function mayCall(arrived: ArrivedRequest, { origins }: OpenLink): boolean {
  const { origin, host, 'sec-fetch-site': site } = arrived.message.headers
  delete arrived.headers['Access-Control-Allow-Origin']
  if (origin === undefined) return site === undefined || site === 'same-origin'
  if (origin === `${arrived.secure ? 'https' : 'http'}://${host}` || site === 'same-origin') return true
  if (!origins.has(origin)) return false
  arrived.headers['Access-Control-Allow-Origin'] = origin
  arrived.headers['Access-Control-Allow-Credentials'] = 'true'
  arrived.headers['Access-Control-Expose-Headers'] = 'X-Request-Id, Retry-After'
  arrived.headers['Vary'] = 'Origin'
  return true
}

/**
 * A visitor's cookie can't be derived from anything that is stored. The same browser is a different user in each chat.
 */
function userOf(link_id: string, secret: string): string {
  return `link:${sha256(`${link_id}:${secret}`).slice(0, 32)}`
}

/**
 * A browser can have two cookies: one for the chat's own page, and one for a page that embeds it. The first one is
 * used.
 */
function readVisitor(arrived: ArrivedRequest): string | undefined {
  return cookieValues(arrived, cookieName(arrived, NAME)).find((secret) => SECRET.test(secret))
}

/** Sets the browser's cookie, or extends the lifetime of the cookie that it has. */
export function greetVisitor(arrived: ArrivedRequest): void {
  setVisitor(arrived, readVisitor(arrived))
}

/**
 * In a frame on another site, browsers only send cookies that say so (`SameSite=None`), and keep them apart for each
 * site that embeds the chat (`Partitioned`).
 */
function setVisitor(arrived: ArrivedRequest, secret = randomBytes(32).toString('base64url')): string {
  const { headers } = arrived.message
  const isEmbedded =
    headers['sec-fetch-dest'] === 'iframe' || arrived.headers['Access-Control-Allow-Origin'] !== undefined
  const site = arrived.secure && isEmbedded ? 'None; Partitioned' : 'Lax'
  const name = cookieName(arrived, NAME)
  arrived.headers['Set-Cookie'] = cookieLine(arrived, { name, value: secret, site, seconds: COOKIE_SECONDS })
  return secret
}
