import { a2a } from './a2a/a2a.ts'
import { agUi } from './ag-ui/ag-ui.ts'
import type { Dialect } from './dialect.ts'
import { mcp } from './mcp/mcp.ts'
import { moorage } from './moorage.ts'
import { openai } from './openai/openai.ts'
import { prometheus } from './prometheus.ts'
import { visitors } from './visitor/visitors.ts'

/** All supported dialects. The first one handles paths that belong to no dialect. */
export const dialects: readonly [Dialect, ...Dialect[]] = [moorage, prometheus, openai, mcp, a2a, agUi, visitors]

/** The dialect in which errors on this path are written. */
export function dialectOf(path: string): Dialect {
  return dialects.find(({ owns }) => owns(path)) ?? dialects[0]
}
