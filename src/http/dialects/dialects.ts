import type { Dialect } from './dialect.ts'
import { moorage } from './moorage.ts'

/** Every dialect that is spoken here. The first one answers where the path belongs to none. */
export const dialects: readonly [Dialect, ...Dialect[]] = [moorage]
