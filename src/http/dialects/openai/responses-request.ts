import { z } from 'zod'
import { invalid } from '../../../errors.ts'
import { validate } from '../../input/validate.ts'
import { type Item, readConversation } from './conversation-items.ts'
import { readCallId, readMessageId, readResponseId } from './ids.ts'
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
  present,
  refuseOtherTools,
  refuseUnsupported,
  samplingOf,
  textOfParts,
  toolOf,
} from './parameters.ts'

const InputItem = z.looseObject({
  type: z.string().optional(),
  role: z.enum(['system', 'developer', 'user', 'assistant']).optional(),
  content: z.unknown().optional(),
  id: z.string().max(256).nullish(),
  call_id: z.string().max(256).optional(),
  name: z.string().max(128).optional(),
  arguments: z.string().optional(),
  output: z.unknown().optional(),
})

const Format = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text') }),
  z.looseObject({ type: z.literal('json_object') }),
  z.looseObject({ type: z.literal('json_schema'), ...JsonSchemaFormat.shape }),
])

const ResponsesBody = z.looseObject({
  ...COMMON,
  input: z.union([z.string(), z.array(InputItem).min(1).max(2_000)]),
  instructions: z.string().nullish(),
  background: z.boolean().nullish(),
  conversation: z.union([z.string().max(256), z.looseObject({ id: z.string().max(256) })]).nullish(),
  previous_response_id: z.string().max(256).nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  text: z.looseObject({ format: Format.optional(), verbosity: Effort.nullish() }).nullish(),
  reasoning: z.looseObject({ effort: Effort.nullish() }).nullish(),
  presence_penalty: z.number().min(-2).max(2).nullish(),
  frequency_penalty: z.number().min(-2).max(2).nullish(),
  tools: z
    .array(z.looseObject({ ...FunctionShape.shape, type: z.literal('function') }))
    .max(MAX_TOOLS)
    .nullish(),
  tool_choice: z
    .union([z.enum(['auto', 'none', 'required']), z.looseObject({ type: z.literal('function'), name: z.string() })])
    .nullish(),
})

export type ResponsesBody = z.output<typeof ResponsesBody>

const UNSUPPORTED = { prompt: NEVER, top_logprobs: ONLY(0), max_tool_calls: NEVER, context_management: ONLY([]) }

/** Converts a request for a response into a call of our own. */
export function readResponses(sent: unknown) {
  refuseOtherTools(sent)
  const asked = validate(ResponsesBody, sent)
  refuseUnsupported(asked, UNSUPPORTED)
  const previous = previousOf(asked)
  const items: Item[] = typeof asked.input === 'string' ? [{ kind: 'user', text: asked.input }] : itemsOf(asked.input)
  if (asked.instructions) items.unshift({ kind: 'system', text: asked.instructions })
  const { message, attachments, rename, ...told } = readConversation(items, 'input', previous !== undefined)
  const given = givenOf({ ...told, previous, ...toolsOf(asked), sampling: samplingIn(asked), noted: notedOf(asked) })
  const body = { message, ...(attachments && { attachments }), ...outputOf(asked.text?.format) }
  return { asked, given, rename, ...callOf(asked, body, conversationIdOf(asked)) }
}

function conversationIdOf({ conversation }: ResponsesBody): string | undefined {
  return typeof conversation === 'string' ? conversation : conversation?.id
}

function previousOf({ previous_response_id: id, conversation }: ResponsesBody): string | undefined {
  if (!id) return undefined
  const field = 'previous_response_id'
  if (conversation) throw invalid({ field, error: "can't be combined with conversation" })
  const read = readResponseId(id)
  if (!read) throw invalid({ field, error: 'is not the ID of a response' })
  return read.request_id
}

function itemsOf(input: z.output<typeof InputItem>[]): Item[] {
  return input.flatMap((item, i) => itemOf(item, `input.${i}`))
}

function itemOf(item: z.output<typeof InputItem>, field: string): Item[] {
  const { type = 'message', role, content, output } = item
  if (type === 'message') {
    const text = textOfParts(content, `${field}.content`)
    if (role === undefined) throw invalid({ field: `${field}.role`, error: 'is required' })
    if (role === 'user') return [{ kind: 'user', text, ...attachedIn(content, `${field}.content`) }]
    return [role === 'assistant' ? { kind: 'assistant', text, calls: [] } : { kind: 'system', text }]
  }
  // A model's thoughts are only for that model. Ours are stored with its own answers.
  if (type === 'reasoning') return []
  if (type === 'item_reference') return [referenceOf(item.id ?? '', field)]
  const id = item.call_id ?? ''
  const of = readCallId(id)
  if (type === 'function_call_output') {
    const call = { id, name: '', arguments: '', ...(of && { of }) }
    return [{ kind: 'result', call, text: textOfParts(output, `${field}.output`) }]
  }
  if (type !== 'function_call') throw invalid({ field: `${field}.type`, error: `${type} is not supported` })
  const { name = '', arguments: args = '{}' } = item
  return [{ kind: 'assistant', text: '', calls: [{ id, name, arguments: args, handed: true, ...(of && { of }) }] }]
}

/** A client can refer to an item of an earlier response instead of sending it again. */
function referenceOf(id: string, field: string): Item {
  const of = readCallId(id)
  if (of) {
    const call = { id: id.replace(/^fc_/, 'call_'), name: '', arguments: '{}', handed: true as const, of }
    return { kind: 'assistant', text: '', calls: [call] }
  }
  const said = readMessageId(id)
  if (said === undefined) throw invalid({ field: `${field}.id`, error: 'is not the ID of an item of a response' })
  return { kind: 'assistant', text: '', calls: [], of: said }
}

function toolsOf({ tools, tool_choice }: ResponsesBody) {
  const choice = typeof tool_choice === 'object' && tool_choice ? { name: tool_choice.name } : tool_choice
  return { tools: checkTools((tools ?? []).map(toolOf)), tool_choice: choiceOf(choice) }
}

function samplingIn({ text, reasoning, ...asked }: ResponsesBody) {
  const { temperature, top_p, max_output_tokens, presence_penalty, frequency_penalty, parallel_tool_calls } = asked
  return samplingOf({
    temperature,
    top_p,
    max_output_tokens,
    presence_penalty,
    frequency_penalty,
    parallel_tool_calls,
    reasoning_effort: reasoning?.effort,
    verbosity: text?.verbosity,
  })
}

/**
 * What the response repeats from the request. It is stored with the run, so the response doesn't change later. Settings
 * that a provider may not support (`strict`, `reasoning`, `verbosity`) and settings without effect here (`truncation`)
 * aren't repeated.
 */
function notedOf(asked: ResponsesBody): Record<string, unknown> {
  const { model, instructions, metadata, previous_response_id, tools, tool_choice, text } = asked
  const { parallel_tool_calls, safety_identifier } = asked
  const repeated = { parallel_tool_calls, user: asked.user || undefined, safety_identifier }
  const conversation = conversationIdOf(asked)
  return present({
    model,
    instructions,
    metadata,
    previous_response_id,
    tools: tools?.map((tool) => ({ description: null, parameters: null, ...tool, strict: false })),
    tool_choice,
    text: text && { format: text.format ?? { type: 'text' } },
    conversation: conversation === undefined ? undefined : { id: conversation },
    ...repeated,
  })
}
