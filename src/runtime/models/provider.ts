import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible'
import { storable } from '../../lib/text/text.ts'
import { buildPrompt } from '../prompt/build-prompt.ts'
import type { RunInput } from '../run-input.ts'
import { parseArguments } from '../tools/arguments.ts'
import { estimateTokens, type ModelAnswer, type Round, type ToolCall, type ToolDefinition } from './model.ts'
import { type Model, type ModelRequest, maxOutputTokens } from './model-request.ts'
import { asModelFailure, type FailureSource, isTruncation, TruncatedAnswer } from './provider-failure.ts'
import { withRetries } from './retry.ts'

/** The AI SDK's own model type. We call it directly: the loop, the retries and the registry are ours. */
export type LanguageModel = ReturnType<OpenAICompatibleProvider['chatModel']>
type CallOptions = Parameters<LanguageModel['doStream']>[0]
type Prompt = CallOptions['prompt']
type AssistantPart = Extract<Prompt[number], { role: 'assistant' }>['content'][number]
type SpokenPart = Extract<AssistantPart, { type: 'text' } | { type: 'reasoning' }>
type StreamPart =
  Awaited<ReturnType<LanguageModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never

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
  const answer = newAnswer(request.say)
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
    if (answer.hasUsage() || answer.hasSpoken() || request.deadline.stopped) request.spend(answer.usage(prompt))
    throw asModelFailure(error, source, answer.hasSpoken())
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

/** Collects the parts of one streamed answer. */
function newAnswer(say: (text: string) => void) {
  const calls: ToolCall[] = []
  const native: AssistantPart[] = []
  const clean = textCleaner()
  let characters = 0
  let spoken = false
  let finish: Extract<StreamPart, { type: 'finish' }> | undefined

  function take(part: StreamPart) {
    if (part.type === 'text-delta') {
      const text = clean(part.delta)
      if (text === '') return
      characters += text.length
      append(native, 'text', text, part.providerMetadata)
      spoken = true
      say(text)
    } else if (part.type === 'reasoning-start' || part.type === 'reasoning-delta' || part.type === 'reasoning-end') {
      append(native, 'reasoning', part.type === 'reasoning-delta' ? part.delta : '', part.providerMetadata, part.type)
    } else if (part.type === 'tool-call' && !part.providerExecuted) {
      calls.push({ id: part.toolCallId, name: part.toolName, arguments: part.input })
      characters += part.input.length
      native.push({
        type: 'tool-call',
        toolCallId: part.toolCallId,
        toolName: part.toolName,
        input: acceptedArguments(part.input),
        ...(part.providerMetadata ? { providerOptions: part.providerMetadata } : {}),
      })
    } else if (part.type === 'error') {
      // When a stream ends too early, the usage still follows, and then `finish` fails.
      if (!isTruncation(part.error)) throw part.error
    } else if (part.type === 'finish') {
      finish = part
    }
  }

  return {
    take,
    hasSpoken: () => spoken,
    hasUsage: () => finish?.usage.inputTokens.total !== undefined,
    /** The reported tokens, or an estimate. */
    usage: (prompt: Prompt) => ({
      input_tokens: whole(finish?.usage.inputTokens.total) ?? estimateTokens(JSON.stringify(prompt).length),
      output_tokens: whole(finish?.usage.outputTokens.total) ?? estimateTokens(characters),
    }),
    finish(): ModelAnswer {
      if (!finish || finish.finishReason.unified === 'error' || finish.finishReason.unified === 'interrupted') {
        throw new TruncatedAnswer('The stream ended before the answer did')
      }
      const reason = finish.finishReason.unified
      return {
        calls,
        native,
        finish: reason === 'length' ? 'length' : reason === 'content-filter' ? 'filtered' : 'stop',
      }
    },
  }
}

/** Some endpoints report fractions. */
function whole(tokens: number | undefined): number | undefined {
  return tokens === undefined ? undefined : Math.max(0, Math.round(tokens))
}

function append(
  native: AssistantPart[],
  type: 'text' | 'reasoning',
  text: string,
  metadata: AssistantPart['providerOptions'],
  event?: StreamPart['type'],
) {
  const last = native.findLast((part) => part.type === 'text' || part.type === 'reasoning')
  const continues = last === native.at(-1) && last?.type === type && event !== 'reasoning-start'
  const part: SpokenPart = continues ? last : { type, text: '' }
  if (!continues) native.push(part)
  part.text += text
  // The signature of the reasoning comes with its last piece, and must be sent back with the whole.
  if (metadata) part.providerOptions = { ...part.providerOptions, ...metadata }
}

function promptOf({ input, rounds }: ModelRequest): Prompt {
  const opening = buildPrompt(input).flatMap(({ role, content, rounds: before = [] }): Prompt => {
    if (role === 'system') return [{ role, content }]
    const said = { role, content: [{ type: 'text' as const, text: content }] }
    return [...before.flatMap(roundMessages), ...(content === '' ? [] : [said])]
  })
  return [...opening, ...rounds.flatMap(roundMessages)]
}

function roundMessages({ calls, results, native, text }: Round): Prompt {
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

function functionTool({ name, description, input_schema }: ToolDefinition) {
  return { type: 'function' as const, name, description, inputSchema: input_schema }
}

/**
 * Arguments that we refused are sent back as an empty object: chat templates require an object, and the error is in the
 * result.
 */
function acceptedArguments(input: string): unknown {
  const args = parseArguments(input)
  return 'value' in args ? args.value : {}
}

/** A surrogate pair may be split between two pieces. */
function textCleaner() {
  let half = ''
  return (piece: string): string => {
    const text = half + piece
    const cut = /[\ud800-\udbff]$/.test(text)
    half = cut ? text.slice(-1) : ''
    return storable(cut ? text.slice(0, -1) : text)
  }
}
