// The services that scripts are played on.
import { rowsOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { type Engine, type Service, type Settings, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'
import { breakConnectionOnce, refuse } from '../support/stores/unwilling-store.ts'
import type { Abilities, Fault } from './generate.ts'
import type { Outside } from './outside.ts'
import type { Stage } from './play.ts'

const settingsFor = ({ url }: Outside): Settings => ({
  ...LOCAL_TOOLS,
  ...localProvider(`${url}/v1`),
  MOORAGE_LIMITS__TIERS: '{"pro":{"requestsPerMinute":10000000,"burst":10000000}}',
  MOORAGE_LIMITS__DEFAULT_TIER: 'pro',
  LOG_LEVEL: 'error',
})

const FAULTS: Record<Engine, readonly Fault[]> = {
  sqlite: ['hang up', 'hang up', 'refuse runs', 'refuse ends'],
  postgres: ['hang up', 'refuse runs', 'break off runs', 'break off ends'],
}

/** One node on SQLite, whose clock the script moves; two on PostgreSQL, whose clock is the database's. */
export const abilitiesOf = (engine: Engine): Abilities => ({ passesTime: engine === 'sqlite', faults: FAULTS[engine] })

export async function openStage(engine: Engine, outside: Outside): Promise<Stage> {
  const service = await startService(engine, settingsFor(outside))
  const nodes = [service]
  if (engine === 'sqlite') service.holdClock()
  else nodes.push(await service.beside())
  return {
    urls: () => nodes.map(({ url }) => url),
    admin: service.admin,
    async pass(ms) {
      service.advance(ms)
      wakeJobs(service)
      await until('the ticks that are due', () => isTicked(service))
    },
    async restart() {
      for (const node of nodes) await node.restart()
    },
    during: (fault, work) => during(service, fault, work),
    async close() {
      for (const node of nodes.toReversed()) await node.stop()
    },
  }
}

async function isTicked(service: Service): Promise<boolean> {
  const schedules = await rowsOf(service, 'schedules')
  return schedules.every(({ next_at, parked }) => next_at === null || parked === 1 || next_at > service.now())
}

const WRITES: Record<Exclude<Fault, 'hang up'>, 'a new run' | 'the end of a run'> = {
  'refuse runs': 'a new run',
  'refuse ends': 'the end of a run',
  'break off runs': 'a new run',
  'break off ends': 'the end of a run',
}

async function during(service: Service, fault: Exclude<Fault, 'hang up'>, work: () => Promise<void>): Promise<void> {
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
