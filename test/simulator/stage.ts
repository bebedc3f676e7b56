// The services that scripts are played on.
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { requeueLapsed } from '../../src/invocations/queue/queue-store.ts'
import { LEASED_RUNS } from '../../src/invocations/rows/invocation-rows.ts'
import { takeUpRuns } from '../../src/invocations/tend-runs.ts'
import { newKey } from '../../src/security/key-format.ts'
import { announce } from '../../src/storage/database.ts'
import { LEASED_JOBS } from '../../src/storage/jobs/jobs.ts'
import { CLAIMS } from '../../src/storage/leases/claims.ts'
import { endLeases } from '../../src/storage/leases/lease.ts'
import { LEASED_DELIVERIES } from '../../src/webhooks/delivery/delivery-queue.ts'
import { databaseUrl, nodeOf, partsOf, rowsOf, storageOf, storeOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { type Engine, type Service, type Settings, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'
import { startCommitProxy } from '../support/stores/commit-proxy.ts'
import { freshPostgres, freshSqlite } from '../support/stores/fresh-store.ts'
import { storeFolder } from '../support/stores/store-folder.ts'
import { breakConnectionOnce, refuse } from '../support/stores/unwilling-store.ts'
import { type Abilities, type Fault, JUMP_MS, type Moment, type StandStill, type Step } from './generate.ts'
import { type MortalNode, mortalNode } from './mortal-node.ts'
import { type OlderService, startOlder } from './older-service.ts'
import type { Outside } from './outside.ts'
import { passOn } from './pass-on.ts'
import type { OpenStage, Stage } from './play.ts'

const settingsFor = ({ url }: Outside): Settings => ({
  ...LOCAL_TOOLS,
  ...localProvider(`${url}/v1`),
  MOORAGE_LIMITS__TIERS: '{"pro":{"requestsPerMinute":10000000,"burst":10000000}}',
  MOORAGE_LIMITS__DEFAULT_TIER: 'pro',
  LOG_LEVEL: 'error',
})

const FAULTS: Record<Engine, readonly Fault[]> = {
  sqlite: ['hang up', 'hang up', 'refuse runs', 'refuse ends'],
  postgres: ['hang up', 'refuse runs', 'break off runs', 'break off ends', 'lose a commit', 'lose a commit'],
}

/**
 * One node on SQLite, whose clock the script moves; two on PostgreSQL, whose clock is the database's. Of an older service
 * there is nothing to be reached from inside.
 */
export const abilitiesOf = (engine: Engine, checkout?: string): Abilities =>
  checkout === undefined
    ? { passesTime: engine === 'sqlite', standsStill: true, faults: FAULTS[engine] }
    : { passesTime: false, standsStill: false, faults: ['hang up'] }

export function openStageOf(engine: Engine, checkout?: string): OpenStage {
  if (checkout === undefined) return (outside, steps) => openStage(engine, outside, steps)
  return (outside) => openOlder(checkout, engine, outside)
}

/** A process of its own takes a second to start, so only scripts that kill it have one. */
export function openStage(engine: Engine, outside: Outside, steps: readonly Step[]): Promise<Stage> {
  const has = (fault: Fault) => steps.some((step) => 'acts' in step && step.fault === fault)
  if (!has('kill')) return openTogether(engine, outside, has('lose a commit'))
  return engine === 'sqlite' ? openMortal(outside) : openBeside(outside)
}

/** All nodes are in this process. */
async function openTogether(engine: Engine, outside: Outside, losesCommits: boolean): Promise<Stage> {
  await using opened = new AsyncDisposableStack()
  const proxy = losesCommits ? await openProxy(opened) : undefined
  const service = await startService(engine, { ...settingsFor(outside), ...(proxy && { DATABASE_URL: proxy.url }) })
  opened.defer(() => service.stop())
  const nodes = [service]
  if (engine === 'sqlite') service.holdClock()
  else {
    const beside = await service.beside()
    opened.defer(() => beside.stop())
    nodes.push(beside)
  }
  const owned = opened.move()
  let only: Service | undefined
  return {
    urls: () => (only ? [only] : nodes).map(({ url }) => url),
    admin: service.admin,
    pass: (ms) => passOn(service, ms),
    async restart() {
      for (const node of nodes) await node.restart()
    },
    async during(fault, work, at) {
      if (isOfStore(fault)) return during(service, fault, work)
      only = service
      if (at && 'answered' in at) {
        let suffered: Promise<void> | undefined
        const act = async () => {
          if (fault === 'jump') return passOn(service, JUMP_MS)
          if (fault === 'oversleep') return oversleep(service)
          const { queued, taken } = standStill(service, nodes[1] ?? service, at)
          suffered = taken
          if (at.answered !== 'at once') await (at.answered === 'when taken' ? taken : queued)
        }
        outside.atCall(at.call, act, { isAnswered: true })
        const hasRecovered = slowDown(service)
        await work()
        outside.atCall(0, () => {})
        await suffered
        hasRecovered()
      } else {
        proxy?.loseCommit(at && 'commit' in at ? at.commit : 1)
        await work()
        proxy?.keepCommits()
      }
      only = undefined
    },
    close: () => owned.disposeAsync(),
  }
}

async function openProxy(opened: AsyncDisposableStack) {
  const database = await freshPostgres()
  opened.defer(() => database.drop())
  const proxy = await startCommitProxy(new URL(database.url))
  opened.defer(() => proxy.close())
  return proxy
}

/** The only node on a SQLite store. After its death it is started again, as a supervisor would. */
async function openMortal(outside: Outside): Promise<Stage> {
  await using opened = new AsyncDisposableStack()
  const home = await storeFolder('mortal')
  opened.defer(() => rm(home, { recursive: true, force: true }))
  const data = join(home, 'data')
  await freshSqlite(data)
  const admin = newKey(randomBytes)
  const node = mortalNode('sqlite', { ...settingsFor(outside), MOORAGE_DATA: data, MOORAGE_INIT_KEY: admin })
  let time = Date.now()
  const start = () => node.start(time)
  await start()
  opened.defer(() => node.stop())
  const owned = opened.move()
  return {
    urls: () => [node.url()],
    admin,
    async pass(ms) {
      time += ms
      await node.pass(ms)
    },
    restart: node.restart,
    async during(_fault, work, at) {
      await killDuring(node, outside, work, at)
      await start()
    },
    close: () => owned.disposeAsync(),
  }
}

/** Two nodes on PostgreSQL, of which the second is killed. The first takes over what it was doing. */
async function openBeside(outside: Outside): Promise<Stage> {
  await using opened = new AsyncDisposableStack()
  const settings = settingsFor(outside)
  const survivor = await startService('postgres', settings)
  opened.defer(() => survivor.stop())
  const { admin, data } = survivor
  const shared = { DATABASE_URL: databaseUrl(survivor), MOORAGE_DATA: data, MOORAGE_INIT_KEY: admin }
  const node = mortalNode('postgres', { ...settings, ...shared })
  await node.start(undefined)
  opened.defer(() => node.stop())
  const owned = opened.move()
  let urls = () => [survivor.url, node.url()]
  const both = urls
  return {
    urls: () => urls(),
    admin,
    pass: () => Promise.reject(new Error('the clock of the database cannot be moved')),
    async restart() {
      await survivor.restart()
      await node.restart()
    },
    async during(_fault, work, at) {
      urls = () => [node.url()]
      await killDuring(node, outside, work, at)
      urls = both
      await node.start(undefined)
    },
    close: () => owned.disposeAsync(),
  }
}

/** Nodes of another checkout. The last one is killed, at a call or when everything was answered. */
async function openOlder(checkout: string, engine: Engine, outside: Outside): Promise<Stage> {
  await using opened = new AsyncDisposableStack()
  const first = await startOlder(checkout, engine, settingsFor(outside))
  opened.defer(() => first.stop())
  const nodes = [first]
  if (engine === 'postgres') {
    const beside = await first.beside()
    opened.defer(() => beside.stop())
    nodes.push(beside)
  }
  const last = nodes.at(-1) as OlderService
  let urls = () => nodes.map(({ url }) => url)
  const all = urls
  const owned = opened.move()
  return {
    urls: () => urls(),
    admin: first.admin,
    pass: () => Promise.reject(new Error('the clock of an older service cannot be moved')),
    async restart() {
      for (const node of nodes) {
        await node.terminate()
        await node.start()
      }
    },
    async during(_fault, work, at) {
      urls = () => [last.url]
      if (at && 'call' in at) outside.atCall(at.call, last.kill)
      await work()
      await last.kill()
      outside.atCall(0, () => {})
      urls = all
      await last.start()
    },
    close: () => owned.disposeAsync(),
  }
}

/** What was acknowledged but is not done yet may come so far. */
const LIVES_ON_MS = 100

/** kill -9 at the moment that the script names, or soon after everything was answered. */
async function killDuring(
  node: MortalNode,
  outside: Outside,
  work: () => Promise<void>,
  at: Moment | undefined,
): Promise<void> {
  if (at && 'commit' in at) await node.dieAt(at)
  if (at && 'call' in at) outside.atCall(at.call, node.kill)
  await work()
  const later = new Promise((resolve) => setTimeout(resolve, LIVES_ON_MS))
  await Promise.race([later, node.gone()])
  await node.kill()
  outside.atCall(0, () => {})
}

/** How late the database's answers are to what runs commit, and to one transaction after the other. */
const COMMIT_MS = 300
const LATE_MS = [0, 15, 0, 40]

/** What is committed, the node learns later, and another or the node itself may see it before. */
function slowDown(node: Service): () => void {
  const { journal, storage } = partsOf(node)
  const { commit } = journal
  const { transaction } = storage
  let answers = 0
  storage.transaction = async (...given) => {
    const done = await transaction(...given)
    await delay(LATE_MS[answers++ % LATE_MS.length])
    return done
  }
  journal.commit = async (...given) => {
    const done = await commit(...given)
    await delay(COMMIT_MS)
    return done
  }
  return () => {
    storage.transaction = transaction
    journal.commit = commit
  }
}

const LEASED = [LEASED_RUNS, CLAIMS, LEASED_DELIVERIES, LEASED_JOBS]

/** The leases of the node have ended, and it looks for the work of dead nodes. */
async function oversleep(node: Service): Promise<void> {
  const isOurs = ({ owner }: { owner: string | null }) => owner?.startsWith(nodeOf(node))
  await until('the run is stored', async () => (await rowsOf(node, 'runs')).some(isOurs))
  for (const leased of LEASED) await endLeases(storeOf(node), leased, nodeOf(node), node.now())
  await takeUpRuns(partsOf(node))
  wakeJobs(node)
}

/**
 * The node has stood still until its leases ended. Another one, which has no room itself, has put its runs back into the
 * queue, or takes them.
 */
function standStill(
  node: Service,
  other: Service,
  { isTakenBack }: StandStill,
): { queued: Promise<void>; taken: Promise<void> } {
  const db = storeOf(node)
  const [name, now] = [nodeOf(node), node.now()]
  const queue = async () => {
    for (const leased of LEASED) await endLeases(db, leased, name, now)
    if (isTakenBack) await requeueLapsed(db, now)
    wakeJobs(isTakenBack ? node : other)
  }
  const queued = queue()
  const take = async () => {
    await queued
    await until('its runs are taken', async () => {
      // It has missed what others have announced, so it must read again what it knew.
      await storageOf(node).transaction((trx) => announce(trx, 'agents'))
      const runs = await rowsOf(node, 'runs')
      return runs.every(({ status, lease_until }) => status !== 'queued' && (lease_until === null || lease_until > now))
    })
  }
  return { queued, taken: take() }
}

type OfStore = 'refuse runs' | 'refuse ends' | 'break off runs' | 'break off ends'

const WRITES: Record<OfStore, 'a new run' | 'the end of a run'> = {
  'refuse runs': 'a new run',
  'refuse ends': 'the end of a run',
  'break off runs': 'a new run',
  'break off ends': 'the end of a run',
}

const isOfStore = (fault: Fault): fault is OfStore => Object.hasOwn(WRITES, fault)

async function during(service: Service, fault: OfStore, work: () => Promise<void>): Promise<void> {
  const doHarm = fault.startsWith('break off') ? breakConnectionOnce : refuse
  const letGo = await doHarm(service, WRITES[fault])
  try {
    await work()
  } finally {
    await letGo()
  }
  // What the run could not store, it holds until its lease ends: a start on SQLite ends it at once.
  if (fault === 'refuse ends') await service.restart()
}
