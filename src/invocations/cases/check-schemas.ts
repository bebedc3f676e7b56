import { checkSchema } from '../../agents/check-definition.ts'
import { invalid } from '../../errors.ts'
import type { Actor } from '../../operation/actor.ts'
import type { Parts } from '../../operation/parts.ts'
import type { AnswerCheck } from './answer-check.ts'

/** They are compiled one after the other, and each takes about 10 ms. */
const MOST_SCHEMAS = 1_000

/** Refuses checks whose schema no answer could be checked against. `field` contains the checks. */
export async function checkSchemas(
  all: readonly { field: string; checks: readonly AnswerCheck[] }[],
  parts: Pick<Parts, 'runtime'>,
  actor: Pick<Actor, 'id' | 'scope'>,
): Promise<void> {
  // The cases of a set often have the same schema.
  const different = new Map<string, { field: string; schema: object }>()
  for (const { field: checks_field, checks } of all) {
    for (const [i, { type, value: schema }] of checks.entries()) {
      if (type !== 'schema') continue
      const text = JSON.stringify(schema)
      if (different.has(text)) continue
      const field = `${checks_field}.${i}.value`
      if (different.size === MOST_SCHEMAS) {
        throw invalid({
          field,
          error: `is one too many: the checks can have at most ${MOST_SCHEMAS} different schemas`,
        })
      }
      different.set(text, { field, schema })
    }
  }
  for (const one of different.values()) await checkSchema(one, parts, actor)
}
