import { z } from 'zod'
import { invalid } from '../../../errors.ts'
import { validate } from '../../input/validate.ts'
import { type Item, readConversation } from './conversation-items.ts'
import { readCallId } from './ids.ts'
import {
  attachedIn,
  COMMON,
  callOf,
  checkTools,
  choiceOf,
  Effort,
  FunctionShape,
  givenOf,
  JsonSchemaFormat,
  MAX_TOOLS,
  NEVER,
  ONLY,
  outputOf,
  refuseOtherTools,
  refuseUnsupported,
  samplingOf,
  textOfParts,
  toolOf,
} from './parameters.ts'

const ToolCallShape = z.looseObject({
  id: z.string().min(1).max(256),
  function: z.looseObject({ name: z.string().min(1).max(128), arguments: z.string() }),
})

const Message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.unknown().optional(),
  tool_calls: z.array(ToolCallShape).max(128).nullish(),
  tool_call_id: z.string().max(256).nullish(),
})

const ResponseFormat = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({ type: z.literal('json_schema'), json_schema: JsonSchemaFormat }),
])

const Named = z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) })

const ChatBody = z.looseObject({
  ...COMMON,
  messages: z.array(Message).min(1).max(2_000),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  seed: z.int().nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  response_format: ResponseFormat.nullish(),
  reasoning_effort: Effort.nullish(),
  verbosity: Effort.nullish(),
  tools: z
    .array(z.looseObject({ type: z.literal('function'), function: FunctionShape }))
    .max(MAX_TOOLS)
    .nullish(),
  tool_choice: z.union([z.enum(['auto', 'none', 'required']), Named]).nullish(),
})

export type ChatBody = z.output<typeof ChatBody>

/** Unsupported parameters that would change the answer, with the values that have no effect. */
const UNSUPPORTED = {
  n: ONLY(1),
  audio: NEVER,
  modalities: ONLY(['text']),
  functions: ONLY([]),
  function_call: ONLY('none', 'auto'),
  logprobs: ONLY(false),
  top_logprobs: ONLY(0),
  logit_bias: ONLY({}),
  web_search_options: NEVER,
}

/** Converts a chat completion into a call of our own. */
export function readChat(sent: unknown) {
  const chat = validateChat(sent)
  const { message, attachments, rename, ...told } = readConversation(chat.messages.map(itemOf), 'messages', false)
  const given = givenOf({ ...told, ...toolsOf(chat), sampling: samplingIn(chat) })
  return {
    chat,
    given,
    rename,
    ...callOf(chat, { message, ...(attachments && { attachments }), ...outputOf(formatOf(chat)) }),
  }
}

function validateChat(sent: unknown): ChatBody {
  refuseOtherTools(sent)
  const chat = validate(ChatBody, sent)
  refuseUnsupported(chat, UNSUPPORTED)
  return chat
}

function itemOf({ role, content, tool_calls, tool_call_id }: ChatBody['messages'][number], i: number): Item {
  const text = textOfParts(content, `messages.${i}.content`)
  if (role === 'system' || role === 'developer') return { kind: 'system', text }
  if (role === 'user') return { kind: 'user', text, ...attachedIn(content, `messages.${i}.content`) }
  if (role === 'tool') {
    if (!tool_call_id) throw invalid({ field: `messages.${i}.tool_call_id`, error: 'is required' })
    return { kind: 'result', call: { id: tool_call_id, name: '', arguments: '' }, text }
  }
  const calls = (tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => {
    const of = readCallId(id)
    return { id, name, arguments: args, handed: true as const, ...(of && { of }) }
  })
  return { kind: 'assistant', text, calls }
}

function toolsOf({ tools, tool_choice }: ChatBody) {
  const choice = typeof tool_choice === 'object' && tool_choice ? { name: tool_choice.function.name } : tool_choice
  return {
    tools: checkTools((tools ?? []).map((tool) => toolOf(tool.function))),
    tool_choice: choiceOf(choice),
  }
}

function formatOf({ response_format: format }: ChatBody) {
  return format?.type === 'json_schema' ? { ...format.json_schema, type: format.type } : format
}

function samplingIn(chat: ChatBody) {
  const { temperature, top_p, seed, presence_penalty, frequency_penalty, stop } = chat
  return samplingOf({
    temperature,
    top_p,
    seed,
    presence_penalty,
    frequency_penalty,
    max_output_tokens: chat.max_completion_tokens ?? chat.max_tokens,
    parallel_tool_calls: chat.parallel_tool_calls,
    reasoning_effort: chat.reasoning_effort,
    verbosity: chat.verbosity,
    stop: typeof stop === 'string' ? [stop] : stop,
  })
}
