import { isDeepStrictEqual } from 'node:util'
import type { AnswerCheck } from '../../invocations/cases/answer-check.ts'
import type { RecordedAnswer } from '../../invocations/cases/run-case.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import type { Parts } from '../../operation/parts.ts'
import { type Cost, nanoOf } from '../../runtime/models/usage.ts'
import { checkOutput } from '../../runtime/output/check-output.ts'
import { sentenceOf } from '../../runtime/schemas/schema-errors.ts'
import type { CheckFinding } from '../case-column.ts'

/** What is checked of an answer. */
export type CheckedAnswer = {
  response: string
  calls: readonly { name: string }[]
  tokens: number
  cost_nano: Cost
  duration_ms: number
}

type CheckParts = Pick<Parts, 'runtime'> & {
  project_id: string
  agent_id: string
  /** Undefined if nothing was recorded. */
  recorded: RecordedAnswer | null
  /** Asks a model. Null if it gave no verdict, with the reason. */
  judge(check: Extract<AnswerCheck, { type: 'judge' }>, response: string): Promise<Finding>
}

type Finding = { passed: boolean | null; note?: string }

export async function checkAll(
  answer: CheckedAnswer,
  checks: readonly AnswerCheck[],
  parts: CheckParts,
): Promise<CheckFinding[]> {
  const results: CheckFinding[] = []
  for (const check of checks) {
    const { passed, note = null } = await checkOne(answer, check, parts)
    results.push({ type: check.type, passed, note })
  }
  return results
}

async function checkOne(answer: CheckedAnswer, check: AnswerCheck, parts: CheckParts): Promise<Finding> {
  const { response } = answer
  switch (check.type) {
    case 'contains':
      return { passed: response.includes(check.value) }
    case 'not_contains':
      return { passed: !response.includes(check.value) }
    case 'matches':
      return matches(response, check.value, parts)
    case 'schema':
      return fitsSchema(response, check.value, parts)
    case 'max_tokens':
      return { passed: answer.tokens <= check.value, note: `${answer.tokens} tokens` }
    case 'max_ms':
      return { passed: answer.duration_ms <= check.value }
    case 'max_cost_usd':
      if (answer.cost_nano === null) return { passed: null, note: 'A model has no price' }
      return { passed: answer.cost_nano <= nanoOf(check.value) }
    case 'same_tools':
      return sameTools(answer, check.value, parts.recorded)
    case 'judge':
      return parts.judge(check, response)
  }
}

/** Run in the thread for schemas, because a regular expression can backtrack endlessly. */
async function matches(
  response: string,
  pattern: string,
  { runtime, project_id, agent_id }: CheckParts,
): Promise<Finding> {
  const lane = laneKey(project_id, agent_id)
  const { outcome } = await runtime.schemaCheck.check({ type: 'string', pattern }, response, { lane })
  if (outcome === 'undecided') return { passed: null, note: 'The regular expression took too long' }
  return { passed: outcome === 'ok' }
}

async function fitsSchema(
  response: string,
  schema: Record<string, unknown>,
  { runtime: { schemaCheck }, project_id, agent_id }: CheckParts,
): Promise<Finding> {
  const checked = await checkOutput(response, { schema, retries: 0 }, { schemaCheck, project_id, agent_id })
  if ('value' in checked) return { passed: true }
  const [first] = checked.problems
  return { passed: checked.isFinal ? null : false, ...(first && { note: sentenceOf(first, 'answer') }) }
}

function sameTools(answer: CheckedAnswer, wanted: true | string[], recorded: RecordedAnswer | null): Finding {
  const expected = wanted === true ? recorded?.calls.map(({ name }) => name) : wanted
  if (!expected) return { passed: null, note: 'No tool calls were recorded' }
  const called = answer.calls.map(({ name }) => name)
  const note = `called ${called.join(', ') || 'nothing'}`
  return { passed: isDeepStrictEqual(called, expected), note }
}
