import { type SchemaProblem, sentenceOf } from '../schemas/schema-errors.ts'
import { isAnyObject, type WantedOutput } from './wanted-output.ts'

/** What the model is told about its answer, where the provider is not told the schema, or may not hold the model to it. */
export function outputInstruction({ schema }: Pick<WantedOutput, 'schema'>): string {
  const wanted = isAnyObject(schema)
    ? 'Answer with one JSON object and nothing else'
    : `Answer with JSON and nothing else: one value that fits this JSON Schema, not the schema itself\n${JSON.stringify(schema)}`
  return `${wanted}\nWrite no words before or after it, and no code fences.`
}

/** What the model is told after an answer that does not fit. */
export function outputReminder(problems: readonly SchemaProblem[], wanted: WantedOutput): string {
  const found = problems.map((problem) => `- ${sentenceOf(problem, 'answer')}`).join('\n')
  return `This answer does not fit:\n${found}\n\n${outputInstruction(wanted)}`
}
