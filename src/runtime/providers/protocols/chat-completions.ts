import type { Round, ToolDefinition } from '../../models/model.ts'
import type { ModelRequest } from '../../models/model-request.ts'
import { buildPrompt } from '../../prompt/build-prompt.ts'
import { acceptedArguments } from '../../tools/arguments.ts'
import { type ChatNative, readChatAnswer } from './chat-answer.ts'
import { chatFormat } from './output-format.ts'
import { NO_WORDS, type Protocol } from './protocol.ts'
import { toolChoiceOf } from './tool-choice.ts'

/** `OpenAI` itself has rules of its own for models that reason. */
export type ChatVendor = 'openai' | 'openai-compatible'

/** Chat Completions: OpenAI, and what speaks like it (vLLM, Ollama, llama.cpp, LiteLLM, Azure, Gemini's endpoint …). */
export function chatCompletions(vendor: ChatVendor): Protocol {
  return {
    path: '/chat/completions',
    headers: (apiKey) => (apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
    body(request, model) {
      const reasons = vendor === 'openai' && isReasoningModel(model)
      const { fields, instruction } = chatFormat(request.output, vendor)
      return {
        model,
        messages: messagesOf(request, reasons ? 'developer' : 'system', instruction),
        stream: true,
        stream_options: { include_usage: true },
        ...(reasons ? reasoningSampling(request) : samplingOf(request)),
        ...(vendor === 'openai' && !reasons ? {} : thinkingOf(request)),
        ...fields,
        ...toolsOf(request),
      }
    },
    reader: readChatAnswer,
  }
}

/** The o series, and from GPT-5 on all but the chat models: they refuse most of what steers other models. */
function isReasoningModel(model: string): boolean {
  return /^(?:o\d|gpt-(?:[5-9]|\d\d))/.test(model) && !/^gpt-\d+-chat/.test(model)
}

type ChatMessage = Record<string, unknown> & { role: string }

function messagesOf(
  { input, rounds }: ModelRequest,
  instructor: 'system' | 'developer',
  instruction: string,
): ChatMessage[] {
  const messages: ChatMessage[] = []
  for (const { role, content, rounds: before = [] } of buildPrompt(input, instruction)) {
    for (const round of before) addRound(messages, round)
    if (content !== '' || role === 'system') messages.push({ role: role === 'system' ? instructor : role, content })
  }
  for (const round of rounds) addRound(messages, round)
  return messages
}

function addRound(messages: ChatMessage[], { calls, results, native, text = '', told }: Round): void {
  const { content = text, reasoning = {}, extras = [] } = (native as Partial<ChatNative> | undefined)?.chat ?? {}
  messages.push({
    role: 'assistant',
    content: content || (calls.length > 0 ? null : NO_WORDS),
    ...reasoning,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name, arguments: written }, index) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(acceptedArguments(written)) },
        ...(extras[index] !== undefined && extras[index] !== null && { extra_content: extras[index] }),
      })),
    }),
  })
  for (const [index, { id }] of calls.entries()) {
    const result = results[index] ?? { error: 'No result' }
    messages.push({ role: 'tool', tool_call_id: id, content: 'result' in result ? result.result : result.error })
  }
  if (told !== undefined) messages.push({ role: 'user', content: told })
}

function toolsOf(request: ModelRequest): Record<string, unknown> {
  if (request.tools.length === 0 || request.output) return {}
  const choice = toolChoiceOf(request)
  return {
    tools: request.tools.map(functionTool),
    tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
    ...defined({ parallel_tool_calls: request.input.given?.sampling?.parallel_tool_calls }),
  }
}

function functionTool({ name, description, input_schema, strict }: ToolDefinition) {
  return { type: 'function', function: { name, description, parameters: input_schema, ...defined({ strict }) } }
}

/** Models that do not reason refuse this. */
function thinkingOf({ input: { given } }: ModelRequest): Record<string, unknown> {
  const { reasoning_effort, verbosity } = given?.sampling ?? {}
  return defined({ reasoning_effort, verbosity })
}

/** The agent's settings, and what the caller asks for. */
function samplingOf({ input, max_output_tokens }: ModelRequest): Record<string, unknown> {
  const { agent, given } = input
  const { temperature = agent.temperature, top_p, stop, seed, ...asked } = given?.sampling ?? {}
  return {
    ...(temperature !== null && { temperature }),
    ...defined({
      max_tokens: max_output_tokens ?? undefined,
      top_p,
      stop,
      seed,
      presence_penalty: asked.presence_penalty,
      frequency_penalty: asked.frequency_penalty,
    }),
  }
}

function reasoningSampling(request: ModelRequest): Record<string, unknown> {
  const { max_tokens, stop, seed } = samplingOf(request)
  return defined({ max_completion_tokens: max_tokens, stop, seed })
}

function defined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
