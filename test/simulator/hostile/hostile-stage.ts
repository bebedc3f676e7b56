import type { Engine, Service, Settings } from '../../support/service/service.ts'

/** So many things are asked at the same time. */
export const AGENTS = 6

/** A service whose world outside misbehaves. */
export type HostileStage = {
  /** What is wrong with what came of this seed, asked of one of the agents. */
  ask(seed: number, agent: number): Promise<string[]>
  close(): Promise<void>
}

/** What a world needs of a service: nothing from inside the process, so that it can be an older one. */
export type Subject = Pick<Service, 'engine' | 'url' | 'admin' | 'data' | 'call' | 'log' | 'stop'>

export type StartSubject = (engine: Engine, settings: Settings) => Promise<Subject>

/** Settings of every service whose world misbehaves: it answers as fast as it can. */
export const FAST: Settings = {
  MOORAGE_LIMITS__TIERS: '{"pro":{"requestsPerMinute":10000000,"burst":10000000}}',
  MOORAGE_LIMITS__DEFAULT_TIER: 'pro',
}
