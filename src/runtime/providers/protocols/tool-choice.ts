import type { ToolChoice } from '../../given.ts'
import type { ModelPrompt } from '../../models/model-request.ts'

/** If the caller requires a tool call, it is required only once, so that the model can answer afterwards. */
export function toolChoiceOf({ input, rounds }: ModelPrompt): ToolChoice {
  const { tool_choice = 'auto', rounds: before = [] } = input.given ?? {}
  return tool_choice !== 'none' && rounds.length > before.length ? 'auto' : tool_choice
}
