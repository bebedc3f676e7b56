import assert from 'node:assert/strict'
import OpenAI, { type ClientOptions } from 'openai'
import type { Service } from '../service/service.ts'

/** The official client, pointed at the service. */
export function openaiClient({ url, admin }: Pick<Service, 'url' | 'admin'>, options: ClientOptions = {}): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: admin, maxRetries: 0, ...options })
}

/** Everything that a stream yields. */
export async function gathered<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of stream) items.push(item)
  return items
}

/** The fields that the client's types require, by event type. */
const EVENT_FIELDS: Record<string, readonly string[]> = {
  'response.created': ['response'],
  'response.queued': ['response'],
  'response.in_progress': ['response'],
  'response.completed': ['response'],
  'response.incomplete': ['response'],
  'response.failed': ['response'],
  'response.output_item.added': ['item', 'output_index'],
  'response.output_item.done': ['item', 'output_index'],
  'response.content_part.added': ['content_index', 'item_id', 'output_index', 'part'],
  'response.content_part.done': ['content_index', 'item_id', 'output_index', 'part'],
  'response.output_text.delta': ['content_index', 'delta', 'item_id', 'logprobs', 'output_index'],
  'response.output_text.done': ['content_index', 'item_id', 'logprobs', 'output_index', 'text'],
  'response.function_call_arguments.delta': ['delta', 'item_id', 'output_index'],
  'response.function_call_arguments.done': ['arguments', 'item_id', 'name', 'output_index'],
}

const RESPONSE_FIELDS =
  'id access_programs output_text created_at error incomplete_details instructions metadata model object output parallel_tool_calls temperature tool_choice tools top_p'.split(
    ' ',
  )

export function checkResponse(response: object): void {
  for (const field of RESPONSE_FIELDS) assert.ok(field in response, `a response has no ${field}`)
}

/** Checks that each event has its fields, and a higher number than the previous one. */
export function checkEvents(events: readonly { type: string; sequence_number: number }[]): void {
  let last = -1
  for (const event of events) {
    const fields = EVENT_FIELDS[event.type]
    assert.ok(fields, `an event of the kind ${event.type}`)
    for (const field of fields) assert.ok(field in event, `${event.type} has no ${field}`)
    assert.equal(event.sequence_number, last + 1, `the number of ${event.type}`)
    last = event.sequence_number
    if ('response' in event) checkResponse(event.response as object)
  }
}
