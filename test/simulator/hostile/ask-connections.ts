// Signs two users in with an authorization server that misbehaves, lets an agent act for both, and says what is wrong.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PATIENCE } from '../../support/running/patience.ts'
import { until } from '../../support/running/until.ts'
import type { Engine, Reply, Service } from '../../support/service/service.ts'
import { localProvider } from '../../support/service/with-model.ts'
import { Browser, CONNECTED } from '../../support/slices/connections.ts'
import {
  type Act,
  CLIENT,
  expireAll,
  isFair,
  openHostileOAuth,
  type Performance,
  performanceOf,
  TOKEN_END,
} from './hostile-oauth.ts'
import { AGENTS, FAST, type HostileStage, type StartSubject, type Subject } from './hostile-stage.ts'

const USERS = ['ann', 'bob'] as const
/** A run may wait for a refresh, which may take ten seconds. */
const LIMIT_MS = 15_000 * PATIENCE
const GRACE_MS = 8_000 * PATIENCE
/** An answer of the provider may take ten seconds, and some steps need several. */
const MOST_MS = 45_000 * PATIENCE
/** What a sign-in must never survive. */
const NEVER = ['wrong issuer', 'no issuer', 'wrong state', 'declined', 'no token endpoint', 'no access token']

export async function openConnectionStage(engine: Engine, start: StartSubject): Promise<HostileStage> {
  const world = await openHostileOAuth()
  const service = await start(engine, {
    ...CONNECTED,
    ...FAST,
    ...localProvider(`${world.url}/v1`),
    MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '1000000',
    LOG_LEVEL: 'debug',
  })
  const given = new Set<string>()
  for (let i = 0; i < AGENTS; i++) {
    const limits = { timeout_ms: LIMIT_MS, max_steps: 3, max_output_tokens: 200 }
    const made = await service.call('POST', '/v1/agents', { body: { name: `mate-${i}`, model: `local/m${i}`, limits } })
    if (made.status !== 201) throw new Error(made.text)
  }
  return {
    async ask(seed, agent) {
      const performance = performanceOf(seed)
      const act = world.begin(`p${seed}`, performance, `m${agent}`)
      const asked = new Asked(service, act, `c${seed}`, `mate-${agent}`)
      const wrong = await asked.all(`${world.url}/p${seed}`, world.host)
      if (world.elsewhere.came.length > 0) wrong.push('a redirect to another host was followed')
      for (const one of act.given) given.add(one)
      const { kind, at, manners } = performance
      return wrong.map((one) => `seed ${seed} (${kind}: ${manners.join(', ')} at ${at}): ${one}`)
    },
    async close() {
      const kept = `${service.log()}\n${await bytesIn(service.data)}`
      const leaked = tokensIn(kept).filter((one) => given.has(one))
      if (formsOf(CLIENT.secret).some((form) => kept.includes(form))) leaked.push(CLIENT.secret)
      await service.stop().finally(world.close)
      if (leaked.length > 0) throw new Error(`in the log or on the disk: ${leaked.slice(0, 5).join(', ')}`)
    },
  }
}

async function bytesIn(folder: string): Promise<string> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name))
  return (await Promise.all(names.map((name) => readFile(name, 'latin1').catch(() => '')))).join('\n')
}

/** Reads a long text once, whatever was given. */
function tokensIn(text: string): string[] {
  const plain = text
    .matchAll(/(at|rt|code)-(?:\\*"|%22)([0-9a-f-]{36})/g)
    .map(([, kind, id]) => `${kind}-"${id}"${TOKEN_END}`)
  const packed = text.matchAll(/(?:YXQtI|cnQtI|Y29kZS0i)[\w+/]{40,}/g).map(([found]) => {
    const [, token = ''] = /^((?:at|rt|code)-"[0-9a-f-]{36}")/.exec(Buffer.from(found, 'base64').toString()) ?? []
    return token + TOKEN_END
  })
  return [...plain, ...packed]
}

const formsOf = (token: string) => {
  const json = JSON.stringify(token).slice(1, -1)
  const encoded = [encodeURIComponent(token), Buffer.from(token).toString('base64')]
  return [token, json, JSON.stringify(json).slice(1, -1), ...encoded]
}

/** One connection, from its first sign-in to its end. */
class Asked {
  readonly #service: Subject
  readonly #act: Act
  readonly #performance: Performance
  readonly #connection: string
  readonly #agent: string
  readonly #wrong: string[] = []
  readonly #texts: string[] = []

  constructor(service: Subject, act: Act, connection: string, agent: string) {
    this.#service = service
    this.#act = act
    this.#performance = act.performance
    this.#connection = connection
    this.#agent = agent
  }

  async all(issuer: string, host: string): Promise<string[]> {
    const { kind, at, revokes } = this.#performance
    const name = this.#connection
    const path = `/v1/connections/${name}`
    const client = { client_id: CLIENT.id, client_secret: CLIENT.secret }
    const ofHttp = { kind: 'oauth2', issuer, ...client, scopes: ['read'], hosts: [host] }
    const body = kind === 'mcp' ? { kind, url: `${issuer}/mcp` } : ofHttp
    await this.#call('PUT', path, body, [200, 201])
    const headers = { Authorization: `Bearer {{connection.${name}}}` }
    const schema = { input_schema: { type: 'object' } }
    const tool =
      kind === 'mcp'
        ? { type: 'mcp', url: `${issuer}/mcp`, connection: name }
        : { type: 'http', name: 'whoami', method: 'POST', url: `${issuer}/whoami`, headers, ...schema }
    await this.#call('PATCH', `/v1/agents/${this.#agent}`, { tools: [tool] }, [200])
    const isIn = new Set<string>()
    for (const user of USERS) if (await this.#signIn(user)) isIn.add(user)
    await this.#round(isIn)
    expireAll(this.#act)
    await this.#round(isIn)
    // The provider behaves again. Who is still signed in must have access again.
    this.#act.isPolite = true
    await this.#round(isIn, true)
    this.#act.isPolite = at !== 'revoke'
    if (revokes && isIn.has('bob')) {
      await this.#call('DELETE', `${path}/grants/bob`, undefined, [200, 404])
      isIn.delete('bob')
      await this.#round(isIn, true)
    }
    for (const listed of [path, `${path}/grants`, '/v1/connections', `/v1/agents/${this.#agent}/logs?limit=100`])
      await this.#call('GET', listed, undefined, [200])
    await this.#call('DELETE', path, undefined, [200, 204])
    this.#checkEnd()
    await this.#checkIdle()
    return [...this.#wrong, ...this.#act.wrong]
  }

  async #call(method: string, path: string, body: unknown, statuses: number[], most = MOST_MS): Promise<Reply> {
    const began = globalThis.performance.now()
    const reply = await this.#service.call(method, path, { body })
    const took = globalThis.performance.now() - began
    if (took > most) this.#wrong.push(`it took ${Math.round(took)} ms: ${method} ${path}`)
    if (!statuses.includes(reply.status))
      this.#wrong.push(`${method} ${path}: ${reply.status} ${reply.text.slice(0, 300)}`)
    this.#texts.push(reply.text)
    return reply
  }

  /** The link of a user is opened in the browser of that user. */
  async #signIn(user: string): Promise<boolean> {
    const { at, manners } = this.#performance
    const has = (manner: string) => (manners as string[]).includes(manner)
    const links = `/v1/connections/${this.#connection}/links`
    const made = (await this.#call('POST', links, { user_id: user }, [201])).body.data
    const browser = new Browser(() => this.#service as Service)
    const began = globalThis.performance.now()
    const isIn = await this.#walk(browser, made.url, user, at === 'back' && has('opened twice'))
    const took = globalThis.performance.now() - began
    if (took > MOST_MS) this.#wrong.push(`it took ${Math.round(took)} ms to sign in`)
    const isSpoilt = at === 'metadata' || at === 'back' || at === 'code'
    if (isIn && isSpoilt && NEVER.some(has)) this.#wrong.push('a sign-in went through that must not')
    if (!isIn && (!isSpoilt || isFair(this.#performance))) this.#wrong.push(`${user} could not sign in`)
    await this.#call('POST', `${links}/${made.link_id}/confirm`, { user_id: user }, isIn ? [200] : [409])
    return isIn
  }

  async #walk(browser: Browser, link: string, user: string, isTwice: boolean): Promise<boolean> {
    const sent = await this.#page(browser, link)
    const provider = sent.headers.get('location')
    if (provider === null) return false
    const back = await fetch(`${provider}&login=${user}`, { redirect: 'manual' })
    const callback = back.headers.get('location') ?? ''
    const page = await this.#page(browser, callback)
    if (isTwice) await this.#page(browser, callback)
    return page.status === 200 && page.text.includes('<h1>Signed in')
  }

  async #page(browser: Browser, url: string): Promise<{ status: number; headers: Headers; text: string }> {
    const { status, headers } = await browser.open(url)
    const { text } = browser
    if (![200, 303, 403, 409, 503].includes(status)) this.#wrong.push(`a page says ${status}: ${text.slice(0, 300)}`)
    this.#texts.push(text)
    return { status, headers, text }
  }

  /** Both users ask at the same time, one of them twice. */
  async #round(isIn: ReadonlySet<string>, isPolite = false): Promise<void> {
    this.#act.calls.length = 0
    await Promise.all(['ann', 'bob', 'ann'].map((user) => this.#ask(user, isIn.has(user), isPolite)))
    for (const { asked, whose } of this.#act.calls)
      if (asked !== whose) this.#wrong.push(`a call for ${asked} was made with the token of ${whose}`)
    for (const one of this.#act.given) {
      if (this.#texts.some((text) => formsOf(one).some((form) => text.includes(form))))
        this.#wrong.push(`the reply contains ${one}`)
    }
    this.#texts.length = 0
  }

  async #ask(user: string, isIn: boolean, isPolite: boolean): Promise<void> {
    const { at, count } = this.#performance
    const body = { message: `go for ${user}`, context: { user_id: user } }
    const path = `/v1/agents/${this.#agent}`
    const reply = await this.#call('POST', `${path}/invoke`, body, [200, 202, 504], LIMIT_MS + GRACE_MS)
    const { request_id } = reply.body.data ?? {}
    const receipt = request_id && (await this.#call('GET', `${path}/invocations/${request_id}`, undefined, [200]))
    const grant = this.#act.grants.findLast((one) => one.user === user)
    const mayBeOut = !isIn || grant?.isEnded || this.#lacksRefresh()
    if (reply.status === 202) {
      await this.#call('POST', `${path}/invocations/${request_id}/cancel`, {}, [200, 202, 409])
      if (!mayBeOut) this.#wrong.push(`${user} is asked to sign in again: ${reply.text.slice(0, 200)}`)
      return
    }
    if (!isIn) this.#wrong.push(`${user} is not signed in, and the status is ${reply.status}`)
    // Until it behaves again, a sign-in that isn't right may fail.
    if (mayBeOut || !(isPolite || at !== 'refresh' || isFair(this.#performance))) return
    const steps = (receipt?.body.data.steps ?? []).filter(({ kind }: { kind: string }) => kind === 'tool')
    const right = steps.filter(({ result }: { result?: string }) => result?.startsWith(`you are ${user} with [secret `))
    if (right.length !== count) this.#wrong.push(`${user} has no access: ${receipt?.text.slice(0, 900)}`)
  }

  /** docs/connections.md: it ends "if the token has expired and can't be refreshed". */
  #lacksRefresh(): boolean {
    const { at, manners } = this.#performance
    return (at === 'code' || at === 'refresh') && manners.includes('no refresh token')
  }

  #checkEnd(): void {
    const { at } = this.#performance
    // Of other sign-ins, it may have no tokens.
    if (at === 'metadata' || at === 'code' || at === 'refresh' || !isFair(this.#performance)) return
    for (const { user, isRevoked } of this.#act.grants)
      if (!isRevoked) this.#wrong.push(`the sign-in of ${user} was not ended at the provider`)
  }

  async #checkIdle(): Promise<void> {
    try {
      await until('the connections to the provider', () => this.#act.busy.size === 0, 3_000)
    } catch {
      this.#wrong.push(`${this.#act.busy.size} answers are still being read`)
    }
  }
}
