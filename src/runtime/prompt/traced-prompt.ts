import { instructionsJson, messagesJson, type TracedMessage, type TracedPart } from '../../telemetry/traced-messages.ts'
import type { Attributes } from '../../telemetry/tracing.ts'
import type { Attachment } from '../attachments/attachment.ts'
import { shownResult } from '../attachments/shown-input.ts'
import type { ModelAnswer, Round } from '../models/model.ts'
import type { ModelPrompt } from '../models/model-request.ts'
import { buildPrompt } from './build-prompt.ts'

/** What a model is shown, for a trace. `instruction` describes the form of its answer. */
export function tracedPrompt({ input, rounds }: ModelPrompt, instruction: string): Attributes {
  const prompt = buildPrompt(input, instruction)
  const system = prompt.find(({ role }) => role === 'system')?.content
  const messages = prompt.flatMap(({ role, content, rounds: before = [], images = [] }): TracedMessage[] => {
    if (role === 'system') return []
    const parts = [...textPart(content), ...images.map(imagePart)]
    return [...before.flatMap((round) => roundMessages(round, input)), ...(parts.length > 0 ? [{ role, parts }] : [])]
  })
  return {
    ...(system !== undefined && { 'gen_ai.system_instructions': instructionsJson(system) }),
    'gen_ai.input.messages': messagesJson([...messages, ...rounds.flatMap((round) => roundMessages(round, input))]),
  }
}

/** Finish reasons in the terms of OpenTelemetry's conventions. */
const FINISHES = { stop: 'stop', length: 'length', filtered: 'content_filter' }

export function tracedAnswer({ calls, finish, text = '' }: ModelAnswer): Attributes {
  const finish_reason = calls.length > 0 ? 'tool_call' : FINISHES[finish]
  const message: TracedMessage = {
    role: 'assistant',
    parts: [...textPart(text), ...calls.map(callPart)],
    finish_reason,
  }
  return { 'gen_ai.output.messages': messagesJson([message]) }
}

function roundMessages({ calls, results, text = '', told }: Round, input: ModelPrompt['input']): TracedMessage[] {
  const answers = calls.map(({ id }, index): TracedMessage => {
    const { text: result, images } = shownResult(results[index], input)
    return { role: 'tool', parts: [{ type: 'tool_call_response', id, text: result }, ...images.map(imagePart)] }
  })
  return [
    { role: 'assistant', parts: [...textPart(text), ...calls.map(callPart)] },
    ...answers,
    ...(told === undefined ? [] : [{ role: 'user' as const, parts: textPart(told) }]),
  ]
}

function textPart(text: string): TracedPart[] {
  return text === '' ? [] : [{ type: 'text', text }]
}

function callPart({ id, name, arguments: text }: ModelAnswer['calls'][number]): TracedPart {
  return { type: 'tool_call', id, name, text }
}

function imagePart({ file_id, media_type: mime_type }: Attachment): TracedPart {
  return { type: 'file', file_id, mime_type, modality: 'image', text: '' }
}
