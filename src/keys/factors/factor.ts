import { z } from 'zod'
import type { FactorState } from '../../security/one-time-code.ts'
import { Time } from '../../shapes.ts'

/** A factor is `pending` until its first code was entered: a factor that has never worked is not required. */
export const FactorStatus = z.enum(['pending', 'active'])
export type FactorStatus = z.output<typeof FactorStatus>

export const FactorReply = z
  .object({
    key_id: z.string(),
    status: z.enum(['none', ...FactorStatus.options]),
    locked_until: Time.nullable(),
    created_at: Time.nullable(),
    created_by: z.string().nullable(),
  })
  .meta({ id: 'KeyFactor' })

/** The second factor of a key, as the service stores it. */
export type Factor = FactorState & {
  key_id: string
  status: FactorStatus
  /** Encrypted. */
  secret: string
  version: number
  created_at: number
  created_by: string
}

export const FACTOR_PURPOSE = 'key.factor'

/** Shows the active factor if there is one, and otherwise the pending one. */
export function presentFactor(key_id: string, factors: Factor[], now: number): z.input<typeof FactorReply> {
  const factor = factors.find(({ status }) => status === 'active') ?? factors[0]
  if (!factor) return { key_id, status: 'none', locked_until: null, created_at: null, created_by: null }
  const { status, locked_until, created_at, created_by } = factor
  const isLocked = locked_until !== null && locked_until > now
  return { key_id, status, locked_until: isLocked ? locked_until : null, created_at, created_by }
}
