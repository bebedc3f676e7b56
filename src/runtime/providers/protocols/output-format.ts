import type { OutputRequest } from '../../models/model-request.ts'
import { outputInstruction } from '../../output/ask-in-words.ts'
import { allowsStrict, isClosed, withoutLimits } from '../../output/schema-rules.ts'
import { isAnyObject } from '../../output/wanted-output.ts'

/** How a provider is asked for JSON: fields of the request, and text for the model. */
export type OutputFormat = { fields: Record<string, unknown>; instruction: string }

const NOTHING: OutputFormat = { fields: {}, instruction: '' }

/**
 * Asks for JSON. Some compatible servers enforce a schema without showing it to the model, others ignore the field, so
 * the prompt says it too.
 */
export function chatFormat(output: OutputRequest | undefined, vendor: 'openai' | 'openai-compatible'): OutputFormat {
  if (!output) return NOTHING
  const { schema, inWords } = output
  const instruction = outputInstruction(output)
  if (inWords) return { fields: {}, instruction }
  // OpenAI refuses this type unless the prompt contains the word JSON.
  if (isAnyObject(schema)) return { fields: { response_format: { type: 'json_object' } }, instruction }
  const json_schema = { name: nameOf(schema), schema, strict: allowsStrict(schema) }
  const fields = { response_format: { type: 'json_schema', json_schema } }
  return { fields, instruction: vendor === 'openai' ? '' : instruction }
}

/** Asks Anthropic for JSON. It accepts only schemas whose objects are closed. */
export function anthropicFormat(output: OutputRequest | undefined): OutputFormat {
  if (!output) return NOTHING
  const { schema, inWords } = output
  if (inWords || !isClosed(schema)) return { fields: {}, instruction: outputInstruction(output) }
  const format = { type: 'json_schema', schema: withoutLimits(schema) }
  return { fields: { output_config: { format } }, instruction: '' }
}

/** OpenAI requires a name for the schema. */
function nameOf({ title }: OutputRequest['schema']): string {
  return typeof title === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(title) ? title : 'response'
}
