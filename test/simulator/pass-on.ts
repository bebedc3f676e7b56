import { rowsOf, wakeJobs } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import type { Service } from '../support/service/service.ts'

/** The service's clock goes on, and what is due is done. */
export async function passOn(service: Service, ms: number): Promise<void> {
  await until('the schedules of agents that were resumed', () => isTicked(service))
  service.advance(ms)
  wakeJobs(service)
  await until('the ticks that are due', () => isTicked(service))
}

async function isTicked(service: Service): Promise<boolean> {
  const [schedules, agents] = await Promise.all([rowsOf(service, 'schedules'), rowsOf(service, 'agents')])
  const paused = new Set(agents.flatMap(({ id, status }) => (status === 'paused' ? [id] : [])))
  const isParked = (one: { parked: unknown; agent_id: unknown }) => one.parked === 1 && paused.has(String(one.agent_id))
  return schedules.every((one) => one.next_at === null || isParked(one) || Number(one.next_at) > service.now())
}
