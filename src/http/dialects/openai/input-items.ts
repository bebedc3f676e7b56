import { z } from 'zod'
import { invalid } from '../../../errors.ts'
import type { Given, GivenRound, GivenTurn } from '../../../runtime/given.ts'
import { validate } from '../../input/validate.ts'
import type { RenderedReply, Writer } from '../dialect.ts'
import { type AnsweredRun, keptOf } from './answered.ts'
import { bareId, readCallId } from './ids.ts'

const PAGE = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(['asc', 'desc']).default('desc'),
  after: z.string().max(256).optional(),
})

/** Writes the input of a response as a list of items, latest first unless the client requests the oldest first. */
export function inputItems(query: string): Writer {
  const { limit, order, after } = validate(PAGE, Object.fromEntries(new URLSearchParams(query)))
  return {
    reply(_operation, result): RenderedReply {
      const items = itemsOf(keptOf(result))
      const ordered = order === 'asc' ? items : items.toReversed()
      const start = after === undefined ? 0 : ordered.findIndex(({ id }) => id === after) + 1
      if (after !== undefined && start === 0) throw invalid({ field: 'after', error: 'is not the ID of a stored item' })
      const data = ordered.slice(start, start + limit)
      const body = {
        object: 'list',
        data,
        first_id: data.at(0)?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: start + limit < ordered.length,
      }
      return { status: 200, headers: {}, body: JSON.stringify(body) }
    },
    event: () => '',
    replay: () => [],
  }
}

type InputItem = { type: keyof typeof PREFIX } & Record<string, unknown>

/** The prefixes of IDs, by the kind of item. */
const PREFIX = { message: 'msg', function_call: 'fc', function_call_output: 'fco' }

function itemsOf({ given, message, request_id }: AnsweredRun): ({ id: string } & InputItem)[] {
  const told: GivenTurn[] = [
    ...(given?.history ?? []),
    ...(given?.goes_on ? [] : [{ role: 'user' as const, content: message }]),
  ]
  const bare = [...systemItems(given), ...told.flatMap(turnItems), ...(given?.rounds ?? []).flatMap(roundItems)]
  return bare.map((item, i) => ({ id: `${PREFIX[item.type]}_${bareId(request_id)}_in${i}`, ...item }))
}

/** The texts of the system items. The request's `instructions` come first, but aren't an item. */
function systemItems(given: Given | null): InputItem[] {
  const instructions = given?.noted?.['instructions']
  const asked = typeof instructions === 'string' ? instructions : ''
  const text = (given?.instructions ?? '').slice(asked.length).trimStart()
  if (text === '') return []
  return [{ type: 'message', role: 'system', status: 'completed', content: [{ type: 'input_text', text }] }]
}

function turnItems({ role, content, rounds = [] }: GivenTurn): InputItem[] {
  const type = role === 'user' ? 'input_text' : 'output_text'
  const part = { type, text: content, ...(role === 'assistant' && { annotations: [], logprobs: [] }) }
  const said: InputItem = { type: 'message', role, status: 'completed', content: [part] }
  return [...rounds.flatMap(roundItems), ...(content === '' ? [] : [said])]
}

function roundItems({ calls, results }: GivenRound): InputItem[] {
  const status = 'completed'
  return calls.flatMap(({ id: call_id, name, arguments: args }, i) => {
    const result = results[i]
    const output = result && ('result' in result ? result.result : result.error)
    // The call itself is part of an earlier response's output.
    const called: InputItem[] =
      name === '' || readCallId(call_id) ? [] : [{ type: 'function_call', call_id, name, arguments: args, status }]
    if (output === null || output === undefined) return called
    return [...called, { type: 'function_call_output' as const, call_id, output, status }]
  })
}
