import { isDeeper, isObject, parseIfJson } from '../../lib/json.ts'
import type { ToolCall } from '../models/model.ts'

/** The arguments of a call, as the model wrote them. */
export type ToolArguments = { value: Record<string, unknown> } | { problem: string; raw: string }

/** More deeply nested values overflow the stack when they are serialized. */
const MAX_DEPTH = 32
const MAX_CHARACTERS = 64 * 1024

/** Reads the arguments of a call that is about to be made. */
export function argumentsOf({ arguments: raw, cut }: Pick<ToolCall, 'arguments' | 'cut'>): ToolArguments {
  if (!cut) return parseArguments(raw)
  return {
    problem: 'The call was not made, because the answer was cut off before the call was complete',
    raw: raw.slice(0, 200),
  }
}

export function parseArguments(raw: string): ToolArguments {
  const excerpt = raw.slice(0, 200)
  if (raw.length > MAX_CHARACTERS) return { problem: 'The arguments are too long', raw: excerpt }
  const value = raw.trim() === '' ? {} : parseIfJson(raw)
  if (value === undefined) return { problem: 'The arguments are not valid JSON', raw: excerpt }
  if (!isObject(value)) return { problem: 'The arguments must be a JSON object', raw: excerpt }
  if (isDeeper(value, MAX_DEPTH)) return { problem: 'The arguments are nested too deeply', raw: excerpt }
  return { value }
}

/**
 * What a provider is shown of a call's arguments. If we refused them, that is an empty object, because chat templates
 * require an object and the error is in the result.
 */
export function acceptedArguments(raw: string): Record<string, unknown> {
  const args = parseArguments(raw)
  return 'value' in args ? args.value : {}
}
