import { isDeeper } from '../../lib/json.ts'
import { isKept } from '../../lib/text/kept-number.ts'
import { laneKey } from '../../lib/work/lane-key.ts'
import { AgentFailure } from '../outcome.ts'
import type { SchemaCheck } from '../schemas/schema-check.ts'
import type { SchemaProblem } from '../schemas/schema-errors.ts'
import type { WantedOutput } from './wanted-output.ts'

/** Roughly what a model writes in 64,000 tokens. Parsing it takes a few milliseconds. */
const MAX_CHARACTERS = 256 * 1024
const MAX_DEPTH = 64

/** Matches strings, which may also contain digits, and numbers that are long enough to lose precision. */
const LONG_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.]{15,}(?:e[+-]?\d+)?|-?\d[\d.]*e[+-]?\d{3,}/gi

/** An answer that is JSON: the value, and its text without anything around it. */
type JsonAnswer = { value: unknown; text: string }

const FENCED = /^```[a-z0-9_-]*[ \t]*\r?\n([\s\S]*?)\r?\n?```$/i

/** Reads a model's answer as JSON. Models like to put code fences around it. */
function readAnswer(answer: string): JsonAnswer | { problem: string } {
  const trimmed = answer.trim()
  const text = (FENCED.exec(trimmed)?.[1] ?? trimmed).trim()
  if (text === '') return { problem: 'is empty' }
  if (text.length > MAX_CHARACTERS) return { problem: `is longer than ${MAX_CHARACTERS} characters` }
  try {
    const value: unknown = JSON.parse(text)
    if (isDeeper(value, MAX_DEPTH)) return { problem: `is nested more than ${MAX_DEPTH} deep` }
    const lost = lostNumber(text)
    return lost
      ? { problem: `contains the number ${lost.slice(0, 50)}, which can't be stored exactly` }
      : { value, text }
  } catch (error) {
    return { problem: `is not valid JSON: ${(error as Error).message.slice(0, 200)}` }
  }
}

/** Finds a number that JavaScript can't represent exactly, so the value would differ from the text. */
function lostNumber(json: string): string | undefined {
  for (const [token] of json.matchAll(LONG_NUMBER)) if (!token.startsWith('"') && !isKept(token)) return token
  return undefined
}

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
