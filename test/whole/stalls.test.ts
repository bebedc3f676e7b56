import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Route } from '../../src/http/dialects/dialect.ts'
import { dialects } from '../../src/http/dialects/dialects.ts'
import { operations } from '../../src/operations.ts'
import { bodySchema, pathOf, querySchemas, SAMPLE_SETTINGS, sampleRequest } from '../support/clients/requests.ts'
import { longestPass } from '../support/running/longest-pass.ts'
import { onAnyEngine, onEveryEngine, type Service } from '../support/service/service.ts'
import { type Attack, Attacker, type Felt } from '../support/stalls/attacker.ts'
import { DOOR_BODIES } from '../support/stalls/door-bodies.ts'
import { NASTY_HEADERS, NASTY_WORDS, nastyValues } from '../support/stalls/nasty.ts'
import { type Place, placesIn, placesOf } from '../support/stalls/places.ts'

// `npm run stalls` tries many more, on both engines: MOORAGE_STALLS says how many attacks each route gets.
const ATTACKS_A_ROUTE = Number(process.env['MOORAGE_STALLS'] || 1)
const onEngines = process.env['MOORAGE_STALLS'] ? onEveryEngine : onAnyEngine
const SEED = Number(process.env['MOORAGE_STALLS_SEED'] || 20_261_115)
const MOST_MS = 50
const MOST_REPLY_BYTES = 64 * 1024
const TRIES = 5

const SETTINGS = {
  ...SAMPLE_SETTINGS,
  MOORAGE_LIMITS__FAILED_AUTH_PER_MINUTE: '100000',
  MOORAGE_LIMITS__TIERS: '{"enterprise":{"requestsPerMinute":1000000,"burst":1000000}}',
  MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.0/8',
}

/** Where attacks go: a request that is known to work, and the places in its body. */
type Target = { route: Route; path: string; body: unknown; places: Place[]; headers: Record<string, string> }

onEngines(
  'no request blocks the event loop',
  (service, engine) => {
    let attacker: Attacker
    before(() => {
      attacker = new Attacker()
    })
    after(() => attacker.close())

    test(`for more than ${MOST_MS} ms, whatever it contains, on any route`, { timeout: 3_600_000 }, async (t) => {
      const random = seeded(SEED)
      let worst = { ms: 0, name: '' }
      let [sent, tooLarge] = [0, [] as string[]]
      const held: string[] = []
      for (const target of await targetsOf(service())) {
        await attacker.prepare({ ...attackOn(service(), target), method: target.route.method })
        await attacker.send()
        for (const { name, attack } of [...knownOn(service(), target), ...attacksOn(service(), target, random)]) {
          const { stallMs, felt } = await stallOf(attacker, attack)
          sent++
          if (stallMs > worst.ms) worst = { ms: stallMs, name }
          if (stallMs > MOST_MS) held.push(`${stallMs.toFixed(0)} ms: ${name} (${felt.status})`)
          if (felt.status >= 400 && felt.replyBytes > MOST_REPLY_BYTES) {
            tooLarge.push(`${felt.replyBytes} bytes: ${name}`)
          }
        }
      }
      t.diagnostic(`${engine}: ${sent} attacks, the worst stall ${worst.ms.toFixed(1)} ms: ${worst.name}`)
      assert.deepEqual({ held, tooLarge }, { held: [], tooLarge: [] })
      assert.doesNotMatch(service().log(), /"level":"(error|fatal)".*/)
    })

    const key = () => ({ Authorization: `Bearer ${service().admin}` })
    for (const [name, path, headers, status] of [
      ['JSON', '/v1/agents', () => ({ ...key(), 'Content-Type': 'application/json' }), 0],
      ['JSON without a key', '/v1/agents', () => ({ 'Content-Type': 'application/json' }), 401],
      ['a file', '/v1/files', () => ({ ...key(), 'Content-Type': 'text/plain' }), 0],
      ['a file without a key', '/v1/files', () => ({ 'Content-Type': 'text/plain' }), 401],
    ] as const) {
      test(`for more than ${MOST_MS} ms with a chunk for each byte: ${name}`, async () => {
        const attack = { method: 'POST', url: service().url + path, headers: headers(), inBytes: true } as const
        const { stallMs, felt } = await stallOf(attacker, attack)
        assert.equal(felt.status, status)
        assert.ok(stallMs <= MOST_MS, `${stallMs.toFixed(0)} ms`)
      })
    }
  },
  SETTINGS,
)

/**
 * How long the request held the event loop: the longest of its passes, in processor time, as far as another process
 * felt it. A busy machine delays a health check although the service is free, so the least of a few tries counts.
 */
async function stallOf(attacker: Attacker, attack: Attack): Promise<{ stallMs: number; felt: Felt }> {
  await attacker.prepare(attack)
  let [stallMs, felt] = [Number.POSITIVE_INFINITY, undefined as Felt | undefined]
  for (let tries = 0; tries < TRIES && stallMs > MOST_MS; tries++) {
    const passMs = await longestPass(async () => {
      felt = await attacker.send()
    })
    stallMs = Math.min(stallMs, passMs, (felt as Felt).worstMs)
  }
  return { stallMs, felt: felt as Felt }
}

/** Every route of every dialect, read off the list of operations: a new one is attacked without being named here. */
async function targetsOf(service: Service): Promise<Target[]> {
  const targets: Target[] = []
  for (const route of dialects.flatMap((dialect) => dialect.routes(operations))) {
    const { operation, dialect, path } = route
    if (dialect.door === 'api') {
      const { path: at, body, headers } = await sampleRequest(service, operation)
      const schema = bodySchema(operation)
      targets.push({ route, path: at, body, headers, places: schema ? [...placesOf(schema)] : [] })
    } else {
      const at = pathOf({ ...operation, path: path as never })
      const bodies = route.method === 'POST' ? (DOOR_BODIES[path] ?? [{}]) : [undefined]
      for (const body of bodies) {
        targets.push({ route, path: at, body, headers: {}, places: body === undefined ? [] : [...placesIn(body)] })
      }
    }
  }
  return targets
}

/** What has held the event loop for seconds: by the path of the route, the place, and the name of the value. */
const KNOWN: Record<string, [place: string, value: string][]> = {
  '/v1/agents/{agent_id}/invoke': [
    ['attachments', '1999 fitting elements'],
    ['attachments', '9999 of {}'],
    ['output.schema', '9999 of {}'],
  ],
  '/v1/chat/completions': [
    ['tools', 'Infinity of {}'],
    ['tools', '9999 of {}'],
    ['messages', '1999 fitting elements'],
    ['messages', '127 fitting elements'],
    ['messages.0.tool_calls', '1999 fitting elements'],
  ],
  '/v1/responses': [['input', '1999 fitting elements']],
  '/v1/mcp': [
    ['params.clientInfo.icons', 'Infinity of {}'],
    ['params.clientInfo.icons.0.sizes', '999 of {}'],
    ['params.clientInfo.icons', '127 of {}'],
  ],
  '/v1/keys': [['permissions', 'Infinity of "a"']],
  '/v1/agents/{agent_id}/invocations/{request_id}/approvals/{call_id}': [
    ['arguments.k', 'Infinity of null'],
    ['arguments.k', '9999 of null'],
  ],
  '/v1/agents/{agent_id}/memory': [['items.0.metadata.k', '9999 of 1']],
}

function* knownOn(service: Service, target: Target) {
  const { route, places, body } = target
  for (const [at, value] of route.method === 'POST' ? (KNOWN[route.path] ?? []) : []) {
    const place = places.find(({ path }) => path.join('.') === at)
    if (!place) continue
    const number = [...nastyValues(place.sample, place.element)].findIndex(({ name }) => name === value)
    const name = `${route.path} ${methodIn(body)}with ${value} at ${at}`
    yield { name, attack: { ...attackOn(service, target), nasty: { body, ...place, number } } }
  }
}

function* attacksOn(service: Service, target: Target, random: () => number) {
  const { route, path, places, body } = target
  const named = `${route.method} ${route.path}`
  const plain = attackOn(service, target)
  const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T
  for (let i = 0; i < ATTACKS_A_ROUTE && places.length > 0; i++) {
    const place = pick(places)
    const values = [...nastyValues(place.sample, place.element)]
    const number = Math.floor(random() * values.length)
    const name = `${named} ${methodIn(body)}with ${values[number]?.name} at ${place.path.join('.') || 'the top'}`
    yield { name, attack: { ...plain, nasty: { body, ...place, number } } }
  }
  const queries = querySchemas(route.operation).map((query) => query.name)
  for (let i = 0; i < Math.max(1, ATTACKS_A_ROUTE / 4); i++) {
    const [header, word, query] = [pick(NASTY_HEADERS), pick(NASTY_WORDS), pick([...queries, 'surprise'])]
    const headers = { ...plain.headers, [header]: word }
    yield { name: `${named} with ${header}: ${word.slice(0, 20)}`, attack: { ...plain, headers } }
    const url = `${service.url}${path}${path.includes('?') ? '&' : '?'}${query}=${encodeURI(word).slice(0, 14_000)}`
    yield { name: `${named} with ${query}=${word.slice(0, 20)}`, attack: { ...plain, url } }
  }
}

function attackOn({ url, admin }: Service, { route, path, headers }: Target): Attack {
  const sent = { Authorization: `Bearer ${admin}`, Accept: 'application/json, text/event-stream', ...headers }
  const typed = route.method === 'GET' ? {} : { 'Content-Type': 'application/json', 'A2A-Version': '1.0' }
  return { method: route.method, url: url + path, headers: { ...sent, ...typed } }
}

/** The JSON-RPC method, where the body names one. */
function methodIn(body: unknown): string {
  const { method } = Object(body) as { method?: string }
  return method === undefined ? '' : `(${method}) `
}

/** The same numbers between 0 and 1 for the same seed. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}
