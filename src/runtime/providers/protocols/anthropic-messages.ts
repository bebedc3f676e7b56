import type { Attachment } from '../../attachments/attachment.ts'
import { shownResult } from '../../attachments/shown-input.ts'
import { type Round, type ToolDefinition } from '../../models/model.ts'
import type { ModelPrompt } from '../../models/model-request.ts'
import { buildPrompt } from '../../prompt/build-prompt.ts'
import type { ModelInput } from '../../run-input.ts'
import { acceptedArguments } from '../../tools/arguments.ts'
import type { ByteSlots } from '../byte-slots.ts'
import { type AnthropicNative, readAnthropicAnswer } from './anthropic-answer.ts'
import { anthropicFormat } from './output-format.ts'
import { type ModelTarget, NO_WORDS, ownParts, type Protocol } from './protocol.ts'
import { toolChoiceOf } from './tool-choice.ts'

const API_VERSION = '2023-06-01'

/** Anthropic's limits are 5 MiB for an image and 32 MiB for a request, both in base64. */
const IMAGES = { each: 3_900_000, together: 22_000_000, documents: true as const }

/** Anthropic Messages. */
export const anthropicMessages: Protocol = {
  path: '/messages',
  headers: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': API_VERSION }),
  images: IMAGES,
  body(prompt, asked, slots) {
    const { model } = asked
    const { fields, instruction } = anthropicFormat(prompt.output)
    const conversation = conversationOf(prompt, instruction, { asked, slots })
    const { system, messages } = conversation
    const tools = toolsOf(prompt)
    if (asked.caches) markForCache({ ...conversation, tools: tools.tools }, beginsNextTurn(prompt.input))
    return {
      model,
      ...(system.length > 0 && { system }),
      messages,
      stream: true,
      ...samplingOf(prompt, model),
      ...fields,
      ...tools,
    }
  },
  instruction: (output) => anthropicFormat(output).instruction,
  // The protocol requires a number.
  limit: (max_output_tokens, model) => ({ max_tokens: max_output_tokens ?? mostTokensOf(model) }),
  reader: readAnthropicAnswer,
}

/** The longest answer of each model family. Unknown models are treated as current ones. */
const MOST_TOKENS: [RegExp, number][] = [
  [/claude-(?:instant|v?2|3)(?:$|[-.:])/, 4_096],
  [/claude-opus-4(?:$|-1|-\d{6}|@)/, 32_000],
  [/claude-(?:sonnet|haiku|opus)-4(?:$|-5|-\d{6}|@)/, 64_000],
]

function mostTokensOf(model: string): number {
  return MOST_TOKENS.find(([family]) => family.test(model))?.[1] ?? 64_000
}

/** Current models refuse sampling parameters. */
const UNSTEERABLE = /claude-(?:opus-4-[78]|(?:sonnet|opus|haiku|fable)-(?:[5-9]|\d\d))/

/** The user's turn and the answer. */
const TURNS_OF_A_RUN = 2

type Block = Record<string, unknown>
type WriteContext = { asked: ModelTarget; slots: ByteSlots }
type AnthropicMessage = { role: 'user' | 'assistant'; content: Block[] }

type Conversation = {
  system: Block[]
  messages: AnthropicMessage[]
  /** How many of the messages came before this run. */
  earlier: number
}

function conversationOf({ input, rounds }: ModelPrompt, instruction: string, writing: WriteContext): Conversation {
  const system: Block[] = []
  const messages: AnthropicMessage[] = []
  const prompt = buildPrompt(input, instruction)
  let earlier = 0
  for (const message of prompt) {
    const { role, content, rounds: before = [], images = [] } = message
    // The run's own message is the last one of the prompt. It becomes a new message, or is added to the caller's
    // results.
    if (message === prompt.at(-1)) earlier = messages.length
    for (const round of before) addRound(messages, round, input, writing)
    const text = content === '' ? [] : [{ type: 'text', text: content }]
    if (role === 'system') system.push(...text)
    else if (text.length + images.length > 0) {
      add(messages, role, [...images.map((image) => imageBlock(image, writing.slots)), ...text])
    }
  }
  for (const round of rounds) addRound(messages, round, input, writing)
  return { system, messages, earlier }
}

/**
 * Marks where the provider can cache the beginning of the prompt: after the tools and instructions, which every run
 * has; after the earlier turns, if the next turn's prompt starts with them too; and after the results of the last two
 * rounds of tool calls, which the next round includes. At most four marks are allowed.
 */
function markForCache(
  { system, messages, earlier, tools }: Conversation & { tools: Block[] | undefined },
  isBeginning: boolean,
): void {
  const last = messages.length - 1
  // Without tools, this run sends no other request, and the next turn shows the message without its memories.
  const rounds = tools ? [last, ...(last - 2 >= earlier ? [last - 2] : [])] : []
  const marked = new Set([...(isBeginning ? [earlier - 1] : []), ...rounds].filter((index) => index >= 0))
  for (const content of [system.length > 0 ? system : (tools ?? []), ...[...marked].map((i) => messages[i]?.content)]) {
    const end = content?.at(-1)
    // The API refuses the mark on thoughts. The block is copied, because an answer's own blocks belong to its stored
    // step.
    if (content && end && !isThought(end))
      content[content.length - 1] = { ...end, cache_control: { type: 'ephemeral' } }
  }
}

/**
 * Whether the next turn's prompt starts with these turns. Writing to the cache costs more than other input. If the
 * history is full, the next turn drops the oldest turns, so the cache would never be read.
 */
function beginsNextTurn({ agent, history, given }: ModelInput): boolean {
  return given?.history !== undefined || history.length + TURNS_OF_A_RUN <= agent.memory.history
}

function isThought({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking'
}

/** The block for an image. A PDF whose pages the model sees becomes a document. */
function imageBlock({ file_id, media_type }: Attachment, slots: ByteSlots): Block {
  const type = media_type.startsWith('image/') ? 'image' : 'document'
  return { type, source: { type: 'base64', media_type, data: slots.add(file_id) } }
}

/** Adds the blocks of one side. Consecutive blocks of the same side become one message. */
function add(messages: AnthropicMessage[], role: AnthropicMessage['role'], blocks: Block[]): void {
  const last = messages.at(-1)
  if (last?.role === role) last.content.push(...blocks)
  else messages.push({ role, content: [...blocks] })
}

function addRound(messages: AnthropicMessage[], round: Round, input: ModelInput, { asked, slots }: WriteContext): void {
  const { calls, results, text, told } = round
  const written = (ownParts(round, asked) as Partial<AnthropicNative> | undefined)?.anthropic?.content
  const blocks = written ?? [
    ...(text ? [{ type: 'text', text }] : []),
    ...calls.map(({ id, name, arguments: args }) => ({ type: 'tool_use', id, name, input: acceptedArguments(args) })),
  ]
  add(messages, 'assistant', blocks.length > 0 ? blocks : [{ type: 'text', text: NO_WORDS }])
  const answers: Block[] = calls.map(({ id }, index) => {
    const { text: content, images, isError } = shownResult(results[index], input)
    const shown = images.map((image) => imageBlock(image, slots))
    return {
      type: 'tool_result',
      tool_use_id: id,
      content: shown.length > 0 ? [{ type: 'text', text: content }, ...shown] : content,
      ...(isError && { is_error: true }),
    }
  })
  if (told !== undefined) answers.push({ type: 'text', text: told })
  add(messages, 'user', answers)
}

function toolsOf(prompt: ModelPrompt): { tools?: Block[]; tool_choice?: Block } {
  if (prompt.tools.length === 0) return {}
  return { tools: prompt.tools.map(toolOf), tool_choice: choiceOf(prompt) }
}

function toolOf({ name, description, input_schema }: ToolDefinition) {
  return { name, description, input_schema }
}

/**
 * The tools and whether they can be called. Tools that were called earlier must be listed even if none can be called
 * any more.
 */
function choiceOf(prompt: ModelPrompt): Record<string, unknown> {
  const choice = prompt.output ? 'none' : toolChoiceOf(prompt)
  if (choice === 'none') return { type: 'none' }
  const isSingle = prompt.input.given?.sampling?.parallel_tool_calls === false
  return {
    ...(typeof choice === 'object'
      ? { type: 'tool', name: choice.name }
      : { type: choice === 'required' ? 'any' : choice }),
    ...(isSingle && { disable_parallel_tool_use: true }),
  }
}

function samplingOf({ input: { agent, given } }: ModelPrompt, model: string): Record<string, unknown> {
  const { temperature = agent.temperature, top_p, stop } = given?.sampling ?? {}
  const isSteerable = !UNSTEERABLE.test(model)
  return {
    // This API's scale ends at 1.
    ...(isSteerable && temperature !== null && { temperature: Math.min(temperature, 1) }),
    ...(isSteerable && temperature === null && top_p !== undefined && { top_p }),
    ...(stop && { stop_sequences: stop }),
  }
}
