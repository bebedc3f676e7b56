import { checkSchema } from '../../agents/check-definition.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import type { AnswerCheck } from './answer-check.ts'

/** Refuses checks whose schema no answer could be checked against. `field` contains the checks. */
export async function checkSchemas(
  all: readonly { field: string; checks: readonly AnswerCheck[] }[],
  parts: Pick<Parts, 'runtime'>,
  actor: Pick<Actor, 'id' | 'scope'>,
): Promise<void> {
  // The cases of a set often have the same schema.
  const known = new Set<string>()
  for (const { field, checks } of all) {
    for (const [i, { type, value }] of checks.entries()) {
      if (type !== 'schema') continue
      const text = JSON.stringify(value)
      if (!known.has(text)) await checkSchema({ field: `${field}.${i}.value`, schema: value }, parts, actor)
      known.add(text)
    }
  }
}
