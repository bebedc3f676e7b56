import type { Engine } from '../support/service/service.ts'

/** Seeds whose scripts have found something. They are played first. */
export const KEPT_SEEDS: Record<Engine, readonly number[]> = { sqlite: [], postgres: [] }
