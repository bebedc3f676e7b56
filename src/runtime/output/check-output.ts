import { laneKey } from '../../lib/work/lane-key.ts'
import { AgentFailure } from '../outcome.ts'
import type { SchemaCheck } from '../schemas/schema-check.ts'
import type { SchemaProblem } from '../schemas/schema-errors.ts'
import { type JsonAnswer, readAnswer } from './read-answer.ts'
import type { WantedOutput } from './wanted-output.ts'

/** The run produced no answer that fits. */
export class OutputInvalid extends AgentFailure {
  readonly problems: readonly SchemaProblem[]

  constructor(message: string, problems: readonly SchemaProblem[]) {
    super(message, { problems: problems.length })
    this.name = 'OutputInvalid'
    this.problems = problems
  }
}

/** An answer that doesn't fit. `isFinal` means that another attempt wouldn't help. */
type Misfit = { problems: readonly SchemaProblem[]; isFinal?: true }

/** Returns the answer as JSON that fits, or what is wrong with it. */
export async function checkOutput(
  answer: string,
  { schema }: WantedOutput,
  {
    schemaCheck,
    project_id,
    agent_id,
  }: { schemaCheck: Pick<SchemaCheck, 'check'>; project_id: string; agent_id: string },
): Promise<JsonAnswer | Misfit> {
  const read = readAnswer(answer)
  if ('problem' in read) return { problems: [{ at: '', problem: read.problem }] }
  const checked = await schemaCheck.check(schema, read.value, { lane: laneKey(project_id, agent_id) })
  if (checked.outcome === 'ok') return read
  if (checked.outcome === 'errors') return { problems: checked.errors }
  const problem =
    checked.why === 'time' ? 'took too long to check' : "can't be checked, because its schema can't be used"
  return { problems: [{ at: '', problem }], isFinal: true }
}
