import type { AgentCard } from '@a2a-js/sdk'
import { type Client, ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { z } from 'zod'
import { isObject, parseIfJson } from '../../../lib/json.ts'
import { plainIssue } from '../../../lib/text/plain-issue.ts'
import { AgentFailure, type Log } from '../../outcome.ts'
import { HtmlPage, NotAnAnswer, parseObject, type ReplyFields } from '../../providers/protocols/read-events.ts'
import { BadStatus } from '../../providers/provider-failure.ts'
import type { A2aRemote } from '../../spec.ts'
import { fillHeaders, hasSecret, SecretRefused, type Secrets } from '../../tools/fill-secrets.ts'
import type { Fetch } from '../../tools/tool.ts'
import { boundedReply } from './bounded-reply.ts'

/** How the requests to an A2A agent are sent. */
export type PeerWay = {
  fetch: Fetch
  owner: string
  secrets: Secrets
  log: Log
  traceparent: string | undefined
}

/** An A2A agent whose card was read. `streams`: it can stream its answers. */
export type Peer = { client: Client; url: string; version: string; streams: boolean }

const STREAM = 'text/event-stream'
const BINDING = 'JSONRPC'
/** The protocol versions that the client supports. A card of version 0.3 may leave its version out. */
const VERSIONS = /^(1(\.\d+)*|0\.3(\.\d+)*|)$/
const NEWEST = /^1/
const MAX_URL_CHARACTERS = 2_048
/** The longest name of a binding or a version. */
const MAX_NAME_CHARACTERS = 50

/** The parts of a card that are used, in the form of A2A 1.0. Everything else is ignored. */
const ReadCard = z.looseObject({
  supportedInterfaces: z
    .array(
      z.looseObject({
        url: z
          .string()
          .max(MAX_URL_CHARACTERS)
          .pipe(z.url({ protocol: /^https?$/ })),
        protocolBinding: z.string().max(MAX_NAME_CHARACTERS),
        protocolVersion: z.string().max(MAX_NAME_CHARACTERS).default(''),
      }),
    )
    .max(100),
  capabilities: z.looseObject({ streaming: z.boolean().nullish() }).nullish(),
})
type ReadCard = z.output<typeof ReadCard>

/** Reads an agent's card, and opens a client for its URL. */
export async function openPeer(remote: A2aRemote, way: PeerWay, signal: AbortSignal): Promise<Peer> {
  const fetchImpl = wireOf(remote, way)
  const legacyCompat = { enabled: true }
  const reply = await fetchImpl(remote.a2a, { headers: { accept: 'application/json', 'A2A-Version': '1.0' }, signal })
  const text = await reply.text()
  if (text.trimStart().startsWith('<')) throw new HtmlPage(text.slice(0, 500))
  const fields = parseObject(text)
  const resolver = new DefaultAgentCardResolver({ legacyCompat })
  const card = readCard(fields, resolver)
  const spoken = card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding.toUpperCase() === BINDING)
  const known = spoken.filter(({ protocolVersion }) => VERSIONS.test(protocolVersion))
  const chosen = known.find(({ protocolVersion }) => NEWEST.test(protocolVersion)) ?? known[0]
  if (!chosen) throw noWayToSpeak(spoken.map(({ protocolVersion }) => protocolVersion))
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl, legacyCompat })],
    cardResolver: resolver,
  })
  const only = { ...card, supportedInterfaces: [chosen] } as unknown as AgentCard
  const client = await factory.createFromAgentCard(only)
  const { url, protocolVersion } = chosen
  const withheld = isAtCard(remote, new URL(url)) ? [] : parted(remote.headers)[1]
  if (withheld.length > 0) {
    way.log(
      'warn',
      `The agent card names another host (${new URL(url).host}), and ${withheld.join(', ')} can't be sent there.`,
    )
  }
  return { client, url, version: protocolVersion || '0.3', streams: card.capabilities?.streaming === true }
}

/** Reads a card. A card of A2A 0.3 is converted to 1.0. */
function readCard(fields: ReplyFields, resolver: DefaultAgentCardResolver): ReadCard {
  // A card of 1.0 has the first field, and a card of 0.3 the second.
  if (fields['supportedInterfaces'] === undefined && fields['url'] === undefined) {
    throw new AgentFailure(
      'The remote agent returned JSON that is not an agent card. remote.a2a must be the URL of its card.',
    )
  }
  let card: unknown
  try {
    card = resolver.normalizeAgentCard(fields)
  } catch (error) {
    throw new NotAnAnswer(`the agent card: ${(error as Error).message}`)
  }
  const read = ReadCard.safeParse(card, { error: (issue) => plainIssue(issue) })
  if (read.success) return read.data
  const [issue] = read.error.issues
  throw new NotAnAnswer(`the agent card: ${issue?.path.join('.')}: ${issue?.message}`)
}

function noWayToSpeak(versions: readonly string[]): AgentFailure {
  if (versions.length === 0) return new AgentFailure("The remote agent's card has no URL for JSON-RPC.")
  const spoken = versions.map((version) => version.slice(0, 20)).join(', ')
  return new AgentFailure(`The remote agent uses A2A ${spoken}, but this service supports only 1.0 and 0.3.`)
}

/** The transport of the client's requests: guarded, with the agent's headers, and a limit for replies. */
function wireOf(remote: A2aRemote, { fetch, owner, secrets, traceparent }: PeerWay) {
  const { headers: named } = remote
  // Each secret has its own list of hosts. Other headers are sent only to the card's host.
  const own = (url: URL) => fillHeaders(isAtCard(remote, url) ? named : parted(named)[0], url, secrets)
  return async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input)
    const headers = new Headers(ownOrRefused(() => own(url)))
    for (const [name, value] of new Headers(init.headers)) headers.set(name, value)
    if (traceparent !== undefined) headers.set('traceparent', traceparent)
    const reply = await fetch(url, { ...init, headers, owner })
    if (!reply.ok) return refusalOf(boundedReply(reply, false), init.method === 'POST')
    const isStream = headers.get('accept') === STREAM && (reply.headers.get('content-type') ?? '').startsWith(STREAM)
    return boundedReply(reply, isStream)
  }
}

function isAtCard({ a2a }: A2aRemote, url: URL): boolean {
  return url.origin === new URL(a2a).origin
}

/** Returns the headers that contain a secret, and the names of the others. */
function parted(named: Record<string, string>): [withSecret: Record<string, string>, others: string[]] {
  const [sent, others]: [Record<string, string>, string[]] = [{}, []]
  for (const [name, value] of Object.entries(named)) {
    if (hasSecret(value)) sent[name] = value
    else others.push(name)
  }
  return [sent, others]
}

function ownOrRefused(fill: () => Record<string, string>): Record<string, string> {
  try {
    return fill()
  } catch (error) {
    throw error instanceof SecretRefused ? new AgentFailure(error.message) : error
  }
}

/**
 * A protocol error can come with any status. Any other reply with an error status is reported as a server that doesn't
 * answer. The card isn't part of the protocol, so a refusal to return it is always reported this way.
 */
async function refusalOf(reply: Response, isOfProtocol: boolean): Promise<Response> {
  const text = await reply.text().catch(() => '')
  const fields = parseIfJson(text)
  if (isOfProtocol && isObject(fields) && fields['jsonrpc'] !== undefined && isObject(fields['error'])) {
    return new Response(text, { headers: { 'content-type': 'application/json' } })
  }
  throw new BadStatus(reply.status, Object.fromEntries(reply.headers), text)
}
