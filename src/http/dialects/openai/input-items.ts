import type { GivenRound, GivenTurn } from '../../../runtime/given.ts'
import type { Rendered, Writer } from '../dialect.ts'
import { keptOf } from './answered.ts'
import { bareId, readCallId } from './ids.ts'

/** Writes what a response was asked with, as a list of items. */
export const inputItems: Writer = {
  reply(_operation, result): Rendered {
    const { given, message, request_id } = keptOf(result)
    const told: GivenTurn[] = [
      ...(given?.history ?? []),
      ...(given?.goes_on ? [] : [{ role: 'user' as const, content: message }]),
    ]
    const bare = [...told.flatMap(turnItems), ...(given?.rounds ?? []).flatMap(roundItems)]
    const data = bare.map((item, i) => ({ id: `item_${bareId(request_id)}_${i}`, ...item }))
    const body = {
      object: 'list',
      data,
      first_id: data.at(0)?.id ?? null,
      last_id: data.at(-1)?.id ?? null,
      has_more: false,
    }
    return { status: 200, headers: {}, body: JSON.stringify(body) }
  },
  event: () => '',
  replay: () => [],
}

function turnItems({ role, content, rounds = [] }: GivenTurn): object[] {
  const type = role === 'user' ? 'input_text' : 'output_text'
  const part = { type, text: content, ...(role === 'assistant' && { annotations: [] }) }
  const said = { type: 'message', role, status: 'completed', content: [part] }
  return [...rounds.flatMap(roundItems), ...(content === '' ? [] : [said])]
}

function roundItems({ calls, results }: GivenRound): object[] {
  const status = 'completed'
  return calls.flatMap(({ id: call_id, name, arguments: args }, i) => {
    const result = results[i]
    const output = result && ('result' in result ? result.result : result.error)
    // The call itself is in the output of an earlier response.
    const called =
      name === '' || readCallId(call_id) ? [] : [{ type: 'function_call', call_id, name, arguments: args, status }]
    return [
      ...called,
      ...(output === null || output === undefined ? [] : [{ type: 'function_call_output', call_id, output, status }]),
    ]
  })
}
