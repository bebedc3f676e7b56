import { buildPrompt } from '../prompt/build-prompt.ts'
import { parseArguments } from '../tools/arguments.ts'
import type { AssistantPart, SdkPrompt } from './language-model.ts'
import type { Round, ToolCall } from './model.ts'
import type { ModelRequest } from './model-request.ts'

/** What the model is shown, as the AI SDK wants it. */
export function promptOf({ input, rounds }: ModelRequest): SdkPrompt {
  const opening = buildPrompt(input).flatMap(({ role, content, rounds: before = [] }): SdkPrompt => {
    if (role === 'system') return [{ role, content }]
    const said = { role, content: [{ type: 'text' as const, text: content }] }
    return [...before.flatMap(roundMessages), ...(content === '' ? [] : [said])]
  })
  return [...opening, ...rounds.flatMap(roundMessages)]
}

function roundMessages({ calls, results, native, text }: Round): SdkPrompt {
  const outputs = calls.map(({ id, name }, index) => {
    const result = results[index] ?? { error: 'No result' }
    const output =
      'result' in result
        ? { type: 'text' as const, value: result.result }
        : { type: 'error-text' as const, value: result.error }
    return { type: 'tool-result' as const, toolCallId: id, toolName: name, output }
  })
  return [
    { role: 'assistant', content: (native as AssistantPart[] | undefined) ?? partsOf(text, calls) },
    { role: 'tool', content: outputs },
  ]
}

/** An answer that the caller has told, because no provider's own is there. */
function partsOf(text: string | undefined, calls: readonly ToolCall[]): AssistantPart[] {
  const said: AssistantPart[] = text ? [{ type: 'text', text }] : []
  const called = calls.map(({ id, name, arguments: given }): AssistantPart => {
    return { type: 'tool-call', toolCallId: id, toolName: name, input: acceptedArguments(given) }
  })
  return [...said, ...called]
}

/**
 * Arguments that we refused are sent back as an empty object: chat templates require an object, and the error is in the
 * result.
 */
export function acceptedArguments(input: string): unknown {
  const args = parseArguments(input)
  return 'value' in args ? args.value : {}
}
