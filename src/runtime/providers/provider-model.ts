import type { CallOptions, LanguageModel } from '../models/language-model.ts'
import type { ModelAnswer, ToolDefinition } from '../models/model.ts'
import { type Model, type ModelRequest, maxOutputTokens } from '../models/model-request.ts'
import { asModelFailure, type FailureSource } from '../models/provider-failure.ts'
import { promptOf } from '../models/provider-prompt.ts'
import { withRetries } from '../models/retry.ts'
import { StreamedAnswer } from '../models/streamed-answer.ts'
import type { RunInput } from '../run-input.ts'

export function providerModel(language: LanguageModel, source: FailureSource, delayMs: number): Model {
  return {
    answer(request) {
      const { deadline, log } = request
      return withRetries(() => attempt(language, request, source), { deadline, log, delayMs })
    },
  }
}

async function attempt(language: LanguageModel, request: ModelRequest, source: FailureSource): Promise<ModelAnswer> {
  const prompt = promptOf(request)
  const answer = new StreamedAnswer(request.say)
  try {
    const { stream } = await language.doStream({
      prompt,
      abortSignal: request.deadline.signal,
      ...(request.headers && { headers: request.headers }),
      ...(request.tools.length > 0 ? { tools: request.tools.map(functionTool), toolChoice: toolChoice(request) } : {}),
      ...samplingOf(request.input),
    })
    // Leaving the loop early cancels the stream, which closes the provider's socket.
    for await (const part of stream) answer.take(part)
    const answered = answer.finish()
    request.spend(answer.usage(prompt))
    return answered
  } catch (error) {
    // Reported tokens are counted even if the answer failed. If it broke off before a report, they are estimated.
    if (answer.hasUsage || answer.hasSpoken || request.deadline.stopped) request.spend(answer.usage(prompt))
    throw asModelFailure(error, source, answer.hasSpoken)
  }
}

/** The agent's settings, and what the caller asks for. */
function samplingOf(input: RunInput): Partial<CallOptions> {
  const { agent, given } = input
  const { temperature = agent.temperature, top_p, stop, seed, ...asked } = given?.sampling ?? {}
  const maxTokens = maxOutputTokens(input)
  return {
    ...(temperature !== null && { temperature }),
    ...(maxTokens !== null && { maxOutputTokens: maxTokens }),
    ...(top_p !== undefined && { topP: top_p }),
    ...(stop && { stopSequences: stop }),
    ...(seed !== undefined && { seed }),
    ...(asked.presence_penalty !== undefined && { presencePenalty: asked.presence_penalty }),
    ...(asked.frequency_penalty !== undefined && { frequencyPenalty: asked.frequency_penalty }),
    ...(asked.json && { responseFormat: { type: 'json', ...asked.json } }),
  }
}

/** A tool that must be called is called once: after that the model may answer. */
function toolChoice({ input, rounds }: ModelRequest): NonNullable<CallOptions['toolChoice']> {
  const { tool_choice = 'auto', rounds: before = [] } = input.given ?? {}
  if (tool_choice === 'none') return { type: 'none' }
  if (tool_choice === 'auto' || rounds.length > before.length) return { type: 'auto' }
  return tool_choice === 'required' ? { type: 'required' } : { type: 'tool', toolName: tool_choice.name }
}

function functionTool({ name, description, input_schema }: ToolDefinition) {
  return { type: 'function' as const, name, description, inputSchema: input_schema }
}
