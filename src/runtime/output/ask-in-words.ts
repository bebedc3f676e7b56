import { type SchemaProblem, sentenceOf } from '../schemas/schema-errors.ts'
import { isAnyObject, type WantedOutput } from './wanted-output.ts'

/** What the prompt says about the answer, if the provider doesn't receive the schema or might not enforce it. */
export function outputInstruction({ schema }: Pick<WantedOutput, 'schema'>): string {
  const wanted = isAnyObject(schema)
    ? 'Answer with one JSON object and nothing else'
    : `Answer with JSON and nothing else: one value that fits this JSON Schema, not the schema itself\n${JSON.stringify(schema)}`
  return `${wanted}\nWrite no words before or after it, and no code fences.`
}

/** The message to the model after an answer that doesn't match. */
export function outputReminder(problems: readonly SchemaProblem[], wanted: WantedOutput): string {
  const found = problems.map((problem) => `- ${sentenceOf(problem, 'answer')}`).join('\n')
  return `This answer does not fit:\n${found}\n\n${outputInstruction(wanted)}`
}
