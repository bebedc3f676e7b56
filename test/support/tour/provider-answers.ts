type ModelWords = { text: string; call?: { name: string; arguments: object } }

const lines = (events: readonly (object | string)[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')

/** An answer as a Chat Completions stream. */
export function chatStream({ text, call }: ModelWords): { body: string } {
  const chunk = (delta: object, finish_reason: string | null = null) => ({
    id: 'c1',
    model: 'answered-by',
    choices: [{ index: 0, delta, finish_reason }],
  })
  const calls = call && [
    {
      index: 0,
      id: 'call_a',
      type: 'function',
      function: { name: call.name, arguments: JSON.stringify(call.arguments) },
    },
  ]
  const usage = {
    prompt_tokens: 90,
    completion_tokens: 12,
    prompt_tokens_details: { cached_tokens: 30 },
    completion_tokens_details: { reasoning_tokens: 5 },
  }
  return {
    body: lines([
      chunk({ role: 'assistant', content: text }),
      ...(calls ? [chunk({ tool_calls: calls })] : []),
      chunk({}, calls ? 'tool_calls' : 'stop'),
      { id: 'c1', choices: [], usage },
      '[DONE]',
    ]),
  }
}

/** The same as an Anthropic Messages stream. */
export function claudeStream({ text, call }: ModelWords): { body: string } {
  const usage = { input_tokens: 60, cache_read_input_tokens: 25, cache_creation_input_tokens: 5, output_tokens: 1 }
  const blocks = [
    { type: 'thinking', thinking: 'Hm.', signature: 'signed' },
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...(call ? [{ type: 'tool_use', id: 'toolu_a', name: call.name, input: call.arguments }] : []),
  ]
  return {
    body: lines([
      { type: 'message_start', message: { model: 'answered-by', usage } },
      ...blocks.flatMap((content_block, index) => [
        { type: 'content_block_start', index, content_block },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: call ? 'tool_use' : 'end_turn' }, usage: { output_tokens: 14 } },
      { type: 'message_stop' },
    ]),
  }
}
