import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import type { App } from '../../../src/app.ts'
import type { Database, Engine } from '../../../src/storage/database.ts'
import { nodeOf, partsOf, storeOf } from '../inside.ts'
import { brokenRules } from './check-store.ts'
import { heldLoop, watchLoopAfter } from './held-loop.ts'
import { leftOpen, watchOpened } from './left-open.ts'

/**
 * Enables all rules, on both engines. They cost a tenth of the tests' processor time, so only `npm run simulate` sets
 * this by itself.
 */
export const ALL_RULES = 'MOORAGE_TEST_RULES'

const { MOORAGE_TEST_ALL } = process.env
const hasAllRules = () => Boolean(process.env[ALL_RULES])

/** Applies all rules to the services of the tests in this file. */
export function underAllRules(): void {
  const given = process.env[ALL_RULES]
  before(() => {
    process.env[ALL_RULES] = '1'
  })
  after(() => {
    if (given === undefined) delete process.env[ALL_RULES]
  })
}

/** How many nodes of this process use each store. */
const nodes = new Map<string, number>()

const stores = new WeakMap<Database, string>()

/** Stores that a test has changed in ways the service never does. */
const altered = new Set<string>()
const troubled = new Set<string>()

/**
 * Starts a service that is checked when it stops: its store fulfills all rules, it has given back every lease, it has
 * closed everything that it opened, and it has never held the event loop. If the test provides the database and may take it away, leases may be left.
 */
export async function watchInvariants(
  engine: Engine,
  start: () => Promise<App>,
  { mayBeAway }: { mayBeAway: boolean },
): Promise<App> {
  const isWhole = hasAllRules()
  if (!isWhole && !(MOORAGE_TEST_ALL && engine === 'sqlite')) return start()
  const { started, opened } = isWhole ? watchOpened(start) : { started: start(), opened: new Map() }
  if (isWhole) await watchLoopAfter(started)
  const app = await started
  const { config } = partsOf({ app })
  const store = config.database.url ?? config.data
  nodes.set(store, (nodes.get(store) ?? 0) + 1)
  stores.set(storeOf({ app }), store)
  if (mayBeAway) troubled.add(store)
  let checked: Promise<void> | undefined
  const check = async () => {
    await app.stop()
    const held = heldLoop()
    const left = (nodes.get(store) ?? 1) - 1
    nodes.set(store, left)
    const url = config.database.url ?? ''
    const isTroubled = troubled.has(store)
    const resting = { engine, data: config.data, url, node: nodeOf({ app }), isLast: left === 0, isTroubled }
    const broken = altered.has(store) ? [] : await brokenRules(resting)
    const wrong = [...held, ...broken, ...(await leftOpen(opened))]
    assert.deepEqual(wrong, [], 'the service has stopped, and this is wrong')
  }
  return { ...app, stop: () => (checked ??= check()) }
}

/** Exempts a store from the rules, because the test writes what no service writes. */
export function alterStore(db: Database): void {
  const store = stores.get(db)
  if (store !== undefined) altered.add(store)
}

/**
 * Says that the store refuses writes for a while, so leases may be left. Those that couldn't be given back end by
 * themselves.
 */
export function troubleStore(db: Database): void {
  const store = stores.get(db)
  if (store !== undefined) troubled.add(store)
}
