// Uses tokens of an identity provider that misbehaves, signs people in with it, and says what is wrong with what came of it.
import { PersonTab } from '../../support/console/person-tab.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import type { Engine, Service } from '../../support/service/service.ts'
import {
  type Act,
  CLIENT,
  type HostileIdentity,
  isFair,
  openHostileIdentity,
  type Performance,
  performanceOf,
} from './hostile-identity.ts'
import { AGENTS, FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'

const MOST_MS = 25_000 * PATIENCE
const DOMAIN = 'corp.test'
const GROUP = 'dev'

export async function openIdentityStage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const identity = await openHostileIdentity()
  const oidc = Array.from({ length: AGENTS }, (_, i) => ({
    name: `o${i}`,
    issuer: `${identity.url}/o${i}`,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    emailDomains: [DOMAIN],
    roles: [{ group: GROUP, project: '*', role: 'viewer' }],
  }))
  const service = await start(engine, {
    ...LOCAL_TOOLS,
    ...FAST,
    MOORAGE_CONSOLE__OIDC: JSON.stringify(oidc),
    MOORAGE_CONSOLE__ALLOW_INSECURE: 'true',
    MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1/32',
    LOG_LEVEL: 'debug',
  })
  for (let i = 0; i < AGENTS; i++) await service.call('POST', '/v1/agents', { body: { name: `mate-${i}` } })
  return {
    async ask(seed, place) {
      const performance = performanceOf(seed)
      const { kind, manners, where, defect, idToken, userinfo } = performance
      const name = kind === 'sign-in' ? `o${place}` : `t${seed}`
      const act = identity.begin(name, performance)
      const began = globalThis.performance.now()
      const wrong =
        kind === 'sign-in' ? await signIn(service, name, act) : await useToken(service, identity, place, name, act)
      const took = globalThis.performance.now() - began
      if (took > MOST_MS) wrong.push(`it took ${Math.round(took)} ms`)
      if (identity.elsewhere.came.length > 0) wrong.push('a redirect to another host was followed')
      if (service.log().includes(CLIENT.secret)) wrong.push('the secret of the client is in the log')
      try {
        await until('', () => act.busy.size === 0, 3_000)
      } catch {
        wrong.push(`${act.busy.size} answers are still being read`)
      }
      const person = kind === 'sign-in' ? `, ${JSON.stringify(idToken)} and ${JSON.stringify(userinfo)}` : ''
      return wrong.map(
        (one) => `seed ${seed} (${kind}: ${defect ?? 'right'}; ${where}: ${manners.join(', ')}${person}): ${one}`,
      )
    },
    async close() {
      await service.stop().finally(identity.close)
    },
  }
}

/** Each client has its own address, because one with many failures isn't listened to for a while. */
const addressOf = (seed: number) => `10.${(seed >> 16) & 255}.${(seed >> 8) & 255}.${seed & 255}`

async function useToken(
  service: Subject,
  identity: HostileIdentity,
  place: number,
  name: string,
  { performance }: Act,
): Promise<string[]> {
  const introspection = performance.kind === 'opaque' ? { clientSecret: CLIENT.secret } : {}
  const auth = { type: 'oauth2', provider: `${identity.url}/${name}`, clientId: CLIENT.id, ...introspection }
  const made = await service.call('PATCH', `/v1/agents/mate-${place}`, { body: { auth } })
  if (made.status !== 200) throw new Error(made.text)
  const token = await identity.token(name, performance)
  const headers = { 'X-Forwarded-For': addressOf(performance.seed) }
  const { status, text } = await service.call('GET', `/v1/agents/mate-${place}`, { key: token, headers })
  const wrong: string[] = []
  if (text.includes(CLIENT.secret)) wrong.push('the secret of the client is in the reply')
  if (![200, 401, 403, 503].includes(status)) wrong.push(`the status is ${status}: ${text.slice(0, 200)}`)
  if (isBad(performance) && status === 200) wrong.push('the token was accepted')
  if (isFair(performance) && !isBad(performance) && status !== 200)
    wrong.push(`a right token was answered with ${status}: ${text.slice(0, 200)}`)
  return wrong
}

/** The provider vouches for what it says about an opaque token itself: nothing is signed there. */
function isBad({ kind, defect, manners }: Performance): boolean {
  const isOfToken = defect !== null && !(kind === 'opaque' && UNSIGNED.has(defect))
  return isOfToken || manners.includes('another issuer') || manners.includes('keys of somebody else')
}

const UNSIGNED = new Set<string>(['signed by another', 'not signed', 'no expiry', 'no subject'])

async function signIn(service: Subject, name: string, act: Act): Promise<string[]> {
  const { performance } = act
  const tab = new PersonTab(() => service as Service, { 'X-Forwarded-For': addressOf(performance.seed) })
  const { url, attempt } = await tab.begin(name)
  const asked = new URL(url).searchParams
  act.nonce = asked.get('nonce') ?? ''
  const back = `${asked.get('redirect_uri')}?code=c&state=${asked.get('state')}`
  const { status, headers, text } = await tab.comeBack(back, attempt)
  const location = (headers.get('location') ?? '').replace(service.url, '')
  const isIn = location === '/'
  const wrong: string[] = []
  if (status !== 303) wrong.push(`the status is ${status}: ${text.slice(0, 200)}`)
  if (location.includes(CLIENT.secret)) wrong.push('the secret of the client is in the URL')
  const may = mayEnter(performance)
  if (isIn && !may) wrong.push('somebody came in who must not')
  if (!isIn && may && isFair(performance)) wrong.push(`somebody who may come in does not: ${location}`)
  if (isIn && tab.cookie === '') wrong.push('there is no session')
  return wrong
}

/**
 * docs/people.md: "If the ID token has no email address, or has no groups although roles depend on them, the service asks
 * UserInfo." An address "is treated as verified only if the same ID token or UserInfo reply contains both".
 */
function mayEnter({ defect, idToken, userinfo }: Performance): boolean {
  if (defect !== null && defect !== 'inactive') return false
  const isComplete = 'email' in idToken && 'groups' in idToken
  const documents = isComplete ? [idToken] : [idToken, userinfo]
  const email = documents.map((one) => one['email']).find((one) => one !== undefined)
  const isVerified = documents.some((one) => one['email'] === email && one['email_verified'] === true)
  const groups = documents.map((one) => one['groups']).find((one) => one !== undefined)
  return String(email).endsWith(`@${DOMAIN}`) && isVerified && [groups].flat().includes(GROUP)
}
