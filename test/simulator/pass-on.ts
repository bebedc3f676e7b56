import { rowsOf, wakeJobs } from '../support/inside.ts'
import { until } from '../support/running/until.ts'
import type { Service } from '../support/service/service.ts'

/** The service's clock goes on, and what is due is done. */
export async function passOn(service: Service, ms: number): Promise<void> {
  service.advance(ms)
  wakeJobs(service)
  await until('the ticks that are due', () => isTicked(service))
}

async function isTicked(service: Service): Promise<boolean> {
  const schedules = await rowsOf(service, 'schedules')
  return schedules.every(({ next_at, parked }) => next_at === null || parked === 1 || next_at > service.now())
}
