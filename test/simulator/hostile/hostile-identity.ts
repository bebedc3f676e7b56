// An identity provider that misbehaves by seed: it publishes keys, answers about tokens, and says who has signed in.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { newSigningKey, type SigningKey } from '../../support/outside/identity-provider.ts'
import { readBody } from '../../support/outside/local-server.ts'
import { type Random, randomOf } from '../random.ts'
import {
  cutsOf,
  type Elsewhere,
  type HostileServer,
  type Manners,
  mannersOf,
  openHostileServer,
  RUDE_MANNERS,
  sendBadly,
  WIRE_MANNERS,
  watchBusy,
} from './wire.ts'

const IDENTITY_MANNERS = {
  ...WIRE_MANNERS,
  ...RUDE_MANNERS,
  'unknown fields': 'fair',
  'other keys beside it': 'fair',
  'status 500': 'foul',
  'status 404': 'foul',
  'status 204': 'foul',
  HTML: 'foul',
  'an array': 'foul',
  'null fields': 'foul',
  'too large': 'foul',
  garbage: 'foul',
  'another issuer': 'foul',
  'keys of somebody else': 'foul',
  'an error in 200': 'foul',
} as const satisfies Manners

export type Manner = keyof typeof IDENTITY_MANNERS

/** Why a token must not be accepted. */
const DEFECTS = [
  'another audience',
  'no audience',
  'expired',
  'no expiry',
  'not valid yet',
  'no subject',
  'another issuer',
  'signed by another',
  'not signed',
  'inactive',
] as const

type Defect = (typeof DEFECTS)[number]

/** An access token that is checked with keys, one that the provider is asked about, and a person who signs in. */
export type Kind = 'signed' | 'opaque' | 'sign-in'

type Claims = Record<string, unknown>

export type Performance = {
  seed: number
  kind: Kind
  manners: Manner[]
  cuts: number[]
  /** Which of its documents are spoilt. */
  where: string
  defect: Defect | null
  /** Of a person. */
  idToken: Claims
  userinfo: Claims
}

const PLACES: Record<Kind, string[]> = {
  signed: ['metadata', 'keys'],
  opaque: ['metadata', 'introspect'],
  'sign-in': ['token', 'userinfo'],
}

/** What an endpoint sends that has nothing to do with issuers or keys is right in spite of these. */
const ABOUT: Partial<Record<Manner, string>> = { 'another issuer': 'metadata', 'keys of somebody else': 'keys' }

export const isFair = ({ manners }: Performance) => manners.every((manner) => IDENTITY_MANNERS[manner] === 'fair')

export function performanceOf(seed: number): Performance {
  const random = randomOf(seed)
  const kind = random.of(['signed', 'opaque', 'sign-in', 'sign-in'] as const)
  const where = random.of(PLACES[kind])
  const manners = [...mannersOf(random, IDENTITY_MANNERS)].filter((manner) => (ABOUT[manner] ?? where) === where)
  const mostly = kind === 'sign-in' && random.chance(0.6) ? [] : manners
  const all = DEFECTS.filter((defect) => (kind === 'signed' ? defect !== 'inactive' : true))
  const defect = random.chance(0.35) ? random.of(all) : null
  const cuts = cutsOf(random)
  return { seed, kind, manners: mostly, cuts, where, defect, ...personOf(random, `u-${seed}`) }
}

/** What two documents say about a person: the same, or only one of them, or nothing. */
function personOf(random: Random, sub: string): { idToken: Claims; userinfo: Claims } {
  const address = {
    email: `${sub}@${random.of(['corp.test', 'corp.test', 'corp.test', 'evil.test'])}`,
    ...(random.chance(0.85) && { email_verified: random.chance(0.85) }),
  }
  const groups = { groups: random.of([['dev'], ['dev'], ['x', 'dev'], ['x'], 'dev']) }
  const where = () => random.of(['token', 'userinfo', 'userinfo', 'both'])
  const [ofAddress, ofGroups] = [where(), where()]
  const of = (document: string) => ({
    sub,
    ...(ofAddress === document || ofAddress === 'both' ? address : {}),
    ...(ofGroups === document || ofGroups === 'both' ? groups : {}),
  })
  return { idToken: of('token'), userinfo: of('userinfo') }
}

export type Act = { performance: Performance; busy: Set<ServerResponse>; nonce: string; asked: string[] }

export const CLIENT = { id: 'moorage', secret: 'a-secret-of-the-client-that-nobody-sees' }

export type HostileIdentity = Pick<HostileServer, 'url' | 'elsewhere' | 'close'> & {
  /** What the provider at `/<name>` does from now on. */
  begin(name: string, performance: Performance): Act
  /** The access token that a client of the provider has. */
  token(name: string, performance: Performance): Promise<string>
}

export async function openHostileIdentity(): Promise<HostileIdentity> {
  const acts = new Map<string, Act>()
  const [right, other] = await Promise.all([newSigningKey('right'), newSigningKey('other')])
  const keys = { right, other }
  const server = await openHostileServer(async (request, response, elsewhere) => {
    const [, name = '', ...path] = new URL(request.url ?? '', server.url).pathname.split('/')
    const act = acts.get(name)
    if (!act) return void response.writeHead(404).end()
    watchBusy(act.busy, response)
    await answer({ request, response, path: path.join('/'), act, issuer: `${server.url}/${name}`, keys, elsewhere })
  })
  return {
    ...server,
    begin(name, performance) {
      const act: Act = { performance, busy: new Set(), nonce: '', asked: [] }
      acts.set(name, act)
      return act
    },
    async token(name, performance) {
      if (performance.kind === 'opaque') return `opaque-${performance.seed}`
      const claims = { sub: 'ada', scope: 'read:agents' }
      return signed(claims, `${server.url}/${name}`, performance, keys, 'at+jwt')
    },
  }
}

type Keys = { right: SigningKey; other: SigningKey }

const SECOND = 1_000

function signed(claims: Claims, issuer: string, { defect }: Performance, keys: Keys, typ: string): Promise<string> {
  const now = Math.floor(Date.now() / SECOND)
  const all: JWTPayload = {
    ...claims,
    iss: defect === 'another issuer' ? 'https://elsewhere.test' : issuer,
    aud: defect === 'another audience' ? 'another-client' : CLIENT.id,
    iat: defect === 'expired' ? now - 7_200 : now,
    exp: defect === 'expired' ? now - 3_600 : now + 3_600,
    ...(defect === 'not valid yet' && { nbf: now + 3_600 }),
  }
  if (defect === 'no audience') delete all.aud
  if (defect === 'no expiry') delete all.exp
  if (defect === 'no subject') delete all.sub
  if (defect === 'not signed') return Promise.resolve(new UnsecuredJWT(all).encode())
  const { privateKey } = defect === 'signed by another' ? keys.other : keys.right
  return new SignJWT(all).setProtectedHeader({ alg: 'ES256', kid: 'right', typ }).sign(privateKey)
}

type Exchange = {
  request: IncomingMessage
  response: ServerResponse
  path: string
  act: Act
  issuer: string
  keys: Keys
  elsewhere: Elsewhere
}

async function answer({ request, response, path, act, issuer, keys, elsewhere }: Exchange): Promise<void> {
  await readBody(request)
  const { performance } = act
  const what = path.endsWith('openid-configuration') ? 'metadata' : path
  act.asked.push(what)
  const isRude = what === performance.where
  const has = (manner: string) => isRude && (performance.manners as string[]).includes(manner)
  const json = { 'content-type': 'application/json' }
  if (has('status 500')) return void response.writeHead(500).end('{"error":"server_error"}')
  if (has('status 404')) return void response.writeHead(404).end()
  if (has('status 204')) return void response.writeHead(204).end()
  if (has('HTML')) return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>')
  if (has('an error in 200')) return void response.writeHead(200, json).end('{"error":"invalid_request"}')
  const said = await documentOf(what, act, issuer, keys)
  if (!said) return void response.writeHead(404).end()
  if (has('another issuer')) said['issuer'] = 'https://elsewhere.test'
  if (has('keys of somebody else')) said['keys'] = [{ ...keys.other.jwk, kid: 'right' }]
  else if (has('other keys beside it'))
    said['keys'] = [{ kty: 'unheard-of' }, keys.other.jwk, ...((said['keys'] ?? []) as [])]
  if (has('null fields')) for (const name of Object.keys(said)) said[name] = null
  const more = has('unknown fields') ? { 'x-extra': { deep: [null] } } : {}
  const padding = has('too large') ? { padding: 'x'.repeat(3_000_000) } : {}
  const text = JSON.stringify(has('an array') ? [said] : { ...said, ...more, ...padding })
  const sent = { headers: json, body: has('garbage') ? `${text.slice(0, -3)}}}{` : text, filler: ' ' }
  await sendBadly(response, sent, { has, cuts: performance.cuts, elsewhere: elsewhere.url })
}

async function documentOf(what: string, act: Act, issuer: string, keys: Keys): Promise<Claims | undefined> {
  const { performance } = act
  if (what === 'metadata') return metadataOf(issuer)
  if (what === 'keys') return { keys: [keys.right.jwk] }
  if (what === 'introspect') return introspected(issuer, performance)
  if (what === 'userinfo') return performance.userinfo
  if (what !== 'token') return undefined
  const id_token = await signed({ ...performance.idToken, nonce: act.nonce }, issuer, performance, keys, 'JWT')
  return { access_token: 'a', token_type: 'Bearer', refresh_token: 'r', expires_in: 3_600, id_token }
}

const metadataOf = (issuer: string): Claims => ({
  issuer,
  jwks_uri: `${issuer}/keys`,
  introspection_endpoint: `${issuer}/introspect`,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  response_types_supported: ['code'],
  id_token_signing_alg_values_supported: ['ES256'],
})

function introspected(issuer: string, { defect }: Performance): Claims {
  const now = Math.floor(Date.now() / SECOND)
  if (defect === 'inactive') return { active: false }
  return {
    active: true,
    scope: 'read:agents',
    iss: defect === 'another issuer' ? 'https://elsewhere.test' : issuer,
    token_type: 'Bearer',
    ...(defect !== 'no subject' && { sub: 'ada' }),
    ...(defect !== 'no audience' && { aud: defect === 'another audience' ? 'another-client' : CLIENT.id }),
    ...(defect !== 'no expiry' && { exp: defect === 'expired' ? now - 3_600 : now + 3_600 }),
    ...(defect === 'not valid yet' && { nbf: now + 3_600 }),
  }
}
