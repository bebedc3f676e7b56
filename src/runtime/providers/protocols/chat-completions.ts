import { withoutUndefined } from '../../../lib/without-undefined.ts'
import type { Attachment } from '../../attachments/attachment.ts'
import { shownResult } from '../../attachments/shown-input.ts'
import type { Round, ToolDefinition } from '../../models/model.ts'
import type { ModelPrompt } from '../../models/model-request.ts'
import { buildPrompt } from '../../prompt/build-prompt.ts'
import type { ModelInput } from '../../run-input.ts'
import { acceptedArguments } from '../../tools/arguments.ts'
import type { ByteSlots } from '../byte-slots.ts'
import { type ChatNative, readChatAnswer } from './chat-answer.ts'
import { chatFormat } from './output-format.ts'
import { type ModelTarget, NO_WORDS, ownParts, type Protocol } from './protocol.ts'
import { toolChoiceOf } from './tool-choice.ts'

/** `openai` has special rules for reasoning models. */
export type ChatVendor = 'openai' | 'openai-compatible'

/**
 * Chat Completions: OpenAI, and servers with a compatible API (vLLM, Ollama, llama.cpp, LiteLLM, Azure, Gemini's
 * endpoint …).
 */
export function chatCompletions(vendor: ChatVendor): Protocol {
  return {
    path: '/chat/completions',
    headers: (apiKey) => (apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
    images: IMAGES,
    body(prompt, asked, slots) {
      const { model } = asked
      const reasons = vendor === 'openai' && isReasoningModel(model)
      const { fields, instruction } = chatFormat(prompt.output, vendor)
      return {
        model,
        messages: messagesOf(prompt, { asked, slots, instructor: reasons ? 'developer' : 'system', instruction }),
        stream: true,
        stream_options: { include_usage: true },
        ...(reasons ? reasoningSampling(prompt) : samplingOf(prompt)),
        ...(vendor === 'openai' && !reasons ? {} : thinkingOf(prompt)),
        ...fields,
        ...toolsOf(prompt),
      }
    },
    instruction: (output) => chatFormat(output, vendor).instruction,
    limit(max_output_tokens, model) {
      if (max_output_tokens === null) return {}
      const reasons = vendor === 'openai' && isReasoningModel(model)
      return reasons ? { max_completion_tokens: max_output_tokens } : { max_tokens: max_output_tokens }
    },
    reader: readChatAnswer,
  }
}

/**
 * Whether OpenAI treats the model as a reasoning model: the o series, and since GPT-5 all models except the chat
 * models. They refuse most sampling parameters.
 */
function isReasoningModel(model: string): boolean {
  return /^(?:o\d|gpt-(?:[5-9]|\d\d))/.test(model) && !/^gpt-\d+-chat/.test(model)
}

const MIB = 1024 * 1024
const IMAGES = { each: 20 * MIB, together: 50 * MIB }

type WriteContext = { asked: ModelTarget; slots: ByteSlots }

type ChatMessage = Record<string, unknown> & { role: string }

function messagesOf(
  { input, rounds }: ModelPrompt,
  { asked, slots, instructor, instruction }: WriteContext & { instructor: 'system' | 'developer'; instruction: string },
): ChatMessage[] {
  const messages: ChatMessage[] = []
  const add = (round: Round) => addRound(messages, round, input, { asked, slots })
  for (const { role, content, rounds: before = [], images = [] } of buildPrompt(input, instruction)) {
    for (const round of before) add(round)
    if (images.length > 0) messages.push({ role, content: withImages(content, images, slots) })
    else if (content !== '' || role === 'system') {
      messages.push({ role: role === 'system' ? instructor : role, content })
    }
  }
  for (const round of rounds) add(round)
  return messages
}

function withImages(content: string, images: readonly Attachment[], slots: ByteSlots) {
  const shown = images.map(({ file_id, media_type }) => {
    return { type: 'image_url', image_url: { url: `data:${media_type};base64,${slots.add(file_id)}` } }
  })
  return content === '' ? shown : [{ type: 'text', text: content }, ...shown]
}

function addRound(messages: ChatMessage[], round: Round, input: ModelInput, { asked, slots }: WriteContext): void {
  const { calls, results, text = '', told } = round
  const { reasoning = {}, extras = [] } = (ownParts(round, asked) as Partial<ChatNative> | undefined)?.chat ?? {}
  messages.push({
    role: 'assistant',
    content: text || (calls.length > 0 ? null : NO_WORDS),
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
    messages.push({ role: 'tool', tool_call_id: id, content: shownResult(results[index], input).text })
  }
  // In this protocol, a tool's result can only be text, so its images follow it.
  const images = results.flatMap((result) => shownResult(result, input).images)
  if (images.length > 0) messages.push({ role: 'user', content: withImages('Images of the results:', images, slots) })
  if (told !== undefined) messages.push({ role: 'user', content: told })
}

function toolsOf(prompt: ModelPrompt): Record<string, unknown> {
  if (prompt.tools.length === 0 || prompt.output) return {}
  const choice = toolChoiceOf(prompt)
  return {
    tools: prompt.tools.map(functionTool),
    tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
    ...withoutUndefined({ parallel_tool_calls: prompt.input.given?.sampling?.parallel_tool_calls }),
  }
}

function functionTool({ name, description, input_schema, strict }: ToolDefinition) {
  const described = { name, description, parameters: input_schema, ...withoutUndefined({ strict }) }
  return { type: 'function', function: described }
}

/** The caller's settings for reasoning. Models that don't reason refuse them. */
function thinkingOf({ input: { given } }: ModelPrompt): Record<string, unknown> {
  const { reasoning_effort, verbosity } = given?.sampling ?? {}
  return withoutUndefined({ reasoning_effort, verbosity })
}

/** The sampling parameters of the agent and of the caller. */
function samplingOf({ input: { agent, given } }: ModelPrompt): Record<string, unknown> {
  const { temperature = agent.temperature, top_p, stop, seed, ...asked } = given?.sampling ?? {}
  return {
    ...(temperature !== null && { temperature }),
    ...withoutUndefined({
      top_p,
      stop,
      seed,
      presence_penalty: asked.presence_penalty,
      frequency_penalty: asked.frequency_penalty,
    }),
  }
}

function reasoningSampling(prompt: ModelPrompt): Record<string, unknown> {
  const { stop, seed } = samplingOf(prompt)
  return withoutUndefined({ stop, seed })
}
