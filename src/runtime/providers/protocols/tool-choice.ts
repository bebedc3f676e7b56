import type { ToolChoice } from '../../given.ts'
import type { ModelPrompt } from '../../models/model-request.ts'

/** A tool that must be called is called once; then the model can answer. */
export function toolChoiceOf({ input, rounds }: ModelPrompt): ToolChoice {
  const { tool_choice = 'auto', rounds: before = [] } = input.given ?? {}
  return tool_choice !== 'none' && rounds.length > before.length ? 'auto' : tool_choice
}
