import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { copySqlite } from '../../src/storage/sqlite-copy.ts'
import { databaseUrl } from '../support/inside.ts'
import { startEmbeddingServer } from '../support/outside/embedding-server.ts'
import { startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import type { Engine, Service } from '../support/service/service.ts'
import { Tour } from '../support/tour/tour.ts'
import { openWorld } from '../support/tour/world.ts'
import { type Answer, changesIn } from './answers.ts'
import { fillStore } from './fill-store.ts'
import { FIXTURE_KEYS, writeFixture } from './fixture.ts'
import { dumpPostgres } from './postgres-dump.ts'
import { askEverything, askWithTraces, neverAsked } from './questions.ts'

const MANY = '{"enterprise":{"requestsPerMinute":10000000,"burst":10000000},"free":{"requestsPerMinute":60,"burst":60}}'

/** Fills a new store by its API, asks for everything in it, and keeps both. */
export async function makeFixture(release: string, engine: Engine): Promise<string> {
  const told = new Tour()
  const world = await openWorld(told)
  const embedder = await startEmbeddingServer()
  const issuer = await startOidcIssuer()
  const settings = {
    ...FIXTURE_KEYS,
    ...world.settings,
    MOORAGE_LIMITS__TIERS: MANY,
    // A budget in dollars refuses what has no price.
    MOORAGE_PRICES: JSON.stringify([...JSON.parse(world.settings['MOORAGE_PRICES'] ?? ''), EMBEDDING_PRICE]),
    MOORAGE_MEMORY__EMBEDDER__TYPE: 'openai-compatible',
    MOORAGE_MEMORY__EMBEDDER__BASE_URL: embedder.url,
    MOORAGE_MEMORY__EMBEDDER__MODEL: 'concepts-1',
    MOORAGE_MEMORY__EMBEDDER__DIMENSIONS: '5',
    MOORAGE_CONSOLE__OIDC: JSON.stringify([issuer.entry({ roles: ROLES })]),
  }
  await told.start(engine, settings)
  try {
    const kept = await fillStore({ told, world, issuer })
    // Stopping writes what is otherwise written later, such as keys' last uses.
    await askEverything(told.service, kept)
    await told.service.restart()
    const settled = await settledAnswers(() => askEverything(told.service, kept))
    const store = await storedNow(told.service)
    const answers = [...settled, ...(await askWithTraces(told.service, kept))]
    const missing = neverAsked(answers)
    if (missing.length > 0) throw new Error(`nothing asks ${missing.join(', ')}`)
    const files = engine === 'sqlite' ? join(told.service.data, 'files') : undefined
    await writeFixture({ release, engine }, { store, files, told: { now: told.time, settings, kept, answers } })
    return `${engine}: ${answers.length} answers, ${store.length} bytes`
  } finally {
    await told.service.stop()
    await Promise.all([world.close(), embedder.close(), issuer.close()])
  }
}

const EMBEDDING_PRICE = { model: 'embedder/concepts-1', input: 0.02, output: 0 }
const ROLES = [{ group: 'all', project: 'default', role: 'developer' }]

/** The answers once two rounds of questions are answered alike: nothing goes on in the background then. */
async function settledAnswers(ask: () => Promise<Answer[]>): Promise<Answer[]> {
  let last = await ask()
  for (let round = 0; round < 20; round++) {
    await delay(2_000)
    const next = await ask()
    const changes = changesIn(last, next)
    if (changes.length === 0) return next
    console.log(changes.slice(0, 5).join('\n'))
    last = next
  }
  throw new Error('the store does not come to rest')
}

/** The store while its service runs, as a process that dies leaves it. */
async function storedNow(service: Service): Promise<Buffer> {
  if (service.engine === 'postgres') return Buffer.from(await dumpPostgres(databaseUrl(service), '0001-first-release'))
  const copy = join(service.data, 'copy.db')
  copySqlite(join(service.data, 'moorage.db'), copy)
  return readFile(copy)
}
