import { laneKey } from '../../lib/work/lane-key.ts'
import type { SchemaCheck } from '../schemas/schema-check.ts'
import { sentenceOf } from '../schemas/schema-errors.ts'
import { schemaProblem } from '../schemas/schema-size.ts'

const TOO_COSTLY = "checking them against the tool's input_schema took too long"

/**
 * Describes the first problem of a call's arguments in a sentence for the model. If the schema itself is invalid,
 * nothing is refused, and the tool's server decides.
 */
export async function argumentProblem(
  args: Record<string, unknown>,
  schema: object,
  {
    schemaCheck,
    project_id,
    agent_id,
  }: { schemaCheck: Pick<SchemaCheck, 'check'>; project_id: string; agent_id: string },
): Promise<string | undefined> {
  if (takesAnyObject(schema)) return undefined
  const problem = schemaProblem(schema)
  if (problem) return `the input_schema of this tool ${problem}`
  const answer = await schemaCheck.check(schema, args, { lane: laneKey(project_id, agent_id) })
  const [first] = answer.outcome === 'errors' ? answer.errors : []
  if (first) return sentenceOf(first, 'arguments')
  return answer.outcome === 'undecided' && answer.why === 'time' ? TOO_COSTLY : undefined
}

/** Whether the schema accepts any object. Arguments are always an object, so they then don't need to be checked. */
function takesAnyObject(schema: object): boolean {
  return Object.entries(schema).every(([name, value]) => name === 'type' && value === 'object')
}
