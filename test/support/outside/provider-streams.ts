/** What a provider's server sends, and the result. */
export type ProviderStream = {
  name: string
  /** Where servers were seen to answer this way. */
  seen: string
  api: 'chat' | 'anthropic'
  /** The reply's exact body. */
  sent: string
  contentType?: string
  becomes: StreamOutcome
  /** The outcome if everything arrives at once: nothing was said before it failed, so the model is asked again. */
  atOnce?: StreamOutcome
}

type StreamOutcome =
  | {
      response?: string
      calls?: { id: string; name: string; arguments: string; cut?: true }[]
      usage?: {
        input_tokens: number
        output_tokens: number
        cached_tokens?: number
        cache_write_tokens?: number
        reasoning_tokens?: number
      }
      finish?: 'stop' | 'length' | 'filtered'
      /** What is sent back of the answer in the next round, besides text and calls. */
      again?: Record<string, unknown>
    }
  | { failure: string }

const lines = (...events: unknown[]) =>
  events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
const chunk = (delta: object, more: object = {}) => ({ id: 'c', choices: [{ index: 0, delta, ...more }] })
const said = (content: string) => chunk({ content })
const end = (finish_reason: string, more: object = {}) => ({ ...chunk({}, { finish_reason }), ...more })
const usage = (prompt_tokens: number, completion_tokens: number, more: object = {}) => ({
  usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, ...more },
})
const call = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  written: unknown,
  more = {},
) =>
  chunk({
    tool_calls: [
      {
        ...(index !== undefined && { index }),
        ...(id !== undefined && { id, type: 'function' }),
        function: { ...(name !== undefined && { name }), arguments: written },
        ...more,
      },
    ],
  })
const CLOCK = { id: 'call_a', name: 'clock', arguments: '{"zone":"UTC"}' }
const COUNTED = { input_tokens: 7, output_tokens: 2 }

export const CHAT_STREAMS: ProviderStream[] = [
  {
    name: 'text, the reason in a piece of its own, usage in a last piece without choices',
    seen: 'OpenAI API reference: chat completion chunk, stream_options.include_usage; vLLM and llama.cpp answer alike',
    api: 'chat',
    sent: lines(
      chunk({ role: 'assistant', content: '' }),
      said('Hel'),
      said('lo'),
      end('stop'),
      { id: 'c', choices: [], ...usage(7, 2) },
      '[DONE]',
    ),
    becomes: { response: 'Hello', usage: COUNTED, finish: 'stop' },
  },
  {
    name: 'usage in the last piece that has choices, and no [DONE]',
    seen: "DeepSeek API reference (usage on the chunk with finish_reason); Mistral; Gemini's OpenAI endpoint",
    api: 'chat',
    sent: lines(said('Hello'), end('stop', usage(7, 2))),
    becomes: { response: 'Hello', usage: COUNTED, finish: 'stop' },
  },
  {
    name: 'usage in every piece, growing, and a stray report of nothing at the end',
    seen: 'vLLM: stream_options.continuous_usage_stats; xAI streams usage with each chunk',
    api: 'chat',
    sent: lines(
      { ...said('Hel'), ...usage(7, 1) },
      { ...said('lo'), ...usage(7, 2) },
      end('stop', usage(0, 0)),
      '[DONE]',
    ),
    becomes: { response: 'Hello', usage: COUNTED },
  },
  {
    name: 'usage in a field of the gateway',
    seen: 'Groq API reference: x_groq.usage in the last chunk',
    api: 'chat',
    sent: lines(said('Hello'), end('stop', { x_groq: usage(7, 2) }), '[DONE]'),
    becomes: { response: 'Hello', usage: COUNTED },
  },
  {
    name: 'cached and reasoning tokens apart',
    seen: 'OpenAI API reference: usage.prompt_tokens_details, usage.completion_tokens_details',
    api: 'chat',
    sent: lines(
      said('Hello'),
      end('stop'),
      {
        choices: [],
        ...usage(70, 12, {
          prompt_tokens_details: { cached_tokens: 64 },
          completion_tokens_details: { reasoning_tokens: 10 },
        }),
      },
      '[DONE]',
    ),
    becomes: { usage: { input_tokens: 70, output_tokens: 12, cached_tokens: 64, reasoning_tokens: 10 } },
  },
  {
    name: 'parts that are larger than the whole',
    seen: 'gateways that count cached tokens of other requests',
    api: 'chat',
    sent: lines(
      said('Hello'),
      end(
        'stop',
        usage(10, 2, {
          prompt_tokens_details: { cached_tokens: 1e9 },
          completion_tokens_details: { reasoning_tokens: 9 },
        }),
      ),
      '[DONE]',
    ),
    becomes: { usage: { input_tokens: 10, output_tokens: 2, cached_tokens: 10, reasoning_tokens: 2 } },
  },
  {
    name: 'cached tokens under another name',
    seen: 'DeepSeek API reference: usage.prompt_cache_hit_tokens',
    api: 'chat',
    sent: lines(
      said('Hello'),
      end('stop', usage(70, 2, { prompt_cache_hit_tokens: 64, prompt_cache_miss_tokens: 6 })),
      '[DONE]',
    ),
    becomes: { usage: { input_tokens: 70, output_tokens: 2, cached_tokens: 64 } },
  },
  {
    name: 'reasoning that is only in the total',
    seen: "xAI and Gemini's OpenAI endpoint: completion_tokens leaves out the thoughts, total_tokens has them",
    api: 'chat',
    sent: lines(
      said('Hello'),
      end('stop', {
        usage: {
          prompt_tokens: 7,
          completion_tokens: 2,
          total_tokens: 29,
          completion_tokens_details: { reasoning_tokens: 20 },
        },
      }),
      '[DONE]',
    ),
    becomes: { usage: { input_tokens: 7, output_tokens: 22, reasoning_tokens: 20 } },
  },
  {
    name: 'a first piece without choices, and pieces of the filter without delta',
    seen: 'Azure OpenAI: prompt_filter_results; asynchronous filter (openai/openai-python#1677, microsoft/autogen#6465)',
    api: 'chat',
    sent: lines(
      {
        id: '',
        object: '',
        created: 0,
        model: '',
        choices: [],
        prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
      },
      said('Hello'),
      {
        id: '',
        choices: [
          { index: 0, finish_reason: null, content_filter_results: {}, content_filter_offsets: { check_offset: 44 } },
        ],
        usage: null,
      },
      end('stop'),
      '[DONE]',
    ),
    becomes: { response: 'Hello', finish: 'stop' },
  },
  {
    name: 'an answer that a filter cut',
    seen: 'OpenAI and Azure: finish_reason content_filter',
    api: 'chat',
    sent: lines(said('Hel'), end('content_filter'), '[DONE]'),
    becomes: { response: 'Hel', finish: 'filtered' },
  },
  {
    name: 'a refusal',
    seen: 'OpenAI guide to structured outputs: delta.refusal',
    api: 'chat',
    sent: lines(chunk({ refusal: 'I cannot ' }), chunk({ refusal: 'help.' }), end('stop'), '[DONE]'),
    becomes: { response: 'I cannot help.', finish: 'filtered' },
  },
  {
    name: 'an answer that was cut at the limit',
    seen: 'OpenAI API reference: finish_reason length; Mistral: model_length',
    api: 'chat',
    sent: lines(said('Hel'), end('model_length'), '[DONE]'),
    becomes: { response: 'Hel', finish: 'length' },
  },
  {
    name: 'a call that was cut at the limit, before its arguments',
    seen: 'OpenAI API reference: finish_reason length',
    api: 'chat',
    sent: lines(call(0, 'call_a', 'clock', '{"zone":"UTC"}'), call(1, 'call_b', 'tide', ''), end('length'), '[DONE]'),
    becomes: { calls: [CLOCK, { id: 'call_b', name: 'tide', arguments: '', cut: true }] },
  },
  {
    name: 'a call that is whole at the limit',
    seen: 'vLLM: max_tokens reached with the closing brace',
    api: 'chat',
    sent: lines(call(0, 'call_a', 'clock', '{"zone":"UTC"}'), end('length'), '[DONE]'),
    becomes: { calls: [CLOCK] },
  },
  {
    name: 'the id of a call after its name',
    seen: 'gateways that translate other protocols',
    api: 'chat',
    sent: lines(
      call(0, undefined, 'clock', ''),
      call(0, 'call_a', undefined, '{"zone":'),
      call(0, 'call_a', undefined, '"UTC"}'),
      end('tool_calls'),
      '[DONE]',
    ),
    becomes: { calls: [CLOCK] },
  },
  {
    name: 'the name again with every piece of a call, and no id',
    seen: 'small servers that repeat what they have',
    api: 'chat',
    sent: lines(
      call(0, undefined, 'clock', '{"zone":'),
      call(0, undefined, 'clock', '"UTC"}'),
      call(0, undefined, 'tide', '{}'),
      end('tool_calls'),
      '[DONE]',
    ),
    becomes: {
      calls: [
        { ...CLOCK, id: 'call_1' },
        { id: 'call_2', name: 'tide', arguments: '{}' },
      ],
    },
  },
  {
    name: 'the name again with a last piece that is empty, and no id',
    seen: 'not seen: what a server that repeats the name would send after the last piece',
    api: 'chat',
    sent: lines(
      call(0, undefined, 'clock', '{"zone":'),
      call(0, undefined, 'clock', '"UTC"}'),
      call(0, undefined, 'clock', ''),
      end('tool_calls'),
      '[DONE]',
    ),
    becomes: { calls: [{ ...CLOCK, id: 'call_1' }] },
  },
  {
    name: 'two calls without number and id, the first without arguments',
    seen: 'not seen: what a server that numbers no calls would send for a tool without arguments',
    api: 'chat',
    sent: lines(
      call(undefined, undefined, 'tide', ''),
      call(undefined, undefined, 'clock', '{"zone":"UTC"}'),
      end('tool_calls'),
      '[DONE]',
    ),
    becomes: {
      calls: [
        { id: 'call_1', name: 'tide', arguments: '' },
        { ...CLOCK, id: 'call_2' },
      ],
    },
  },
  {
    name: 'two calls whose arguments come in pieces, mixed',
    seen: 'OpenAI API reference: delta.tool_calls with index',
    api: 'chat',
    sent: lines(
      call(0, 'call_a', 'clock', ''),
      call(1, 'call_b', 'tide', ''),
      call(0, undefined, undefined, '{"zone":'),
      call(1, undefined, undefined, '{}'),
      call(0, undefined, undefined, '"UTC"}'),
      end('tool_calls', usage(7, 2)),
      '[DONE]',
    ),
    becomes: { calls: [CLOCK, { id: 'call_b', name: 'tide', arguments: '{}' }], usage: COUNTED },
  },
  {
    name: 'three calls side by side that were cut at the limit, one of them whole',
    seen: 'not seen: the pieces of OpenAI API reference: delta.tool_calls with index, and finish_reason length',
    api: 'chat',
    sent: lines(
      call(0, 'call_a', 'clock', ''),
      call(1, 'call_b', 'tide', ''),
      call(2, 'call_c', 'tide', ''),
      call(1, undefined, undefined, '{}'),
      end('length'),
      '[DONE]',
    ),
    becomes: {
      calls: [
        { id: 'call_a', name: 'clock', arguments: '', cut: true },
        { id: 'call_b', name: 'tide', arguments: '{}' },
        { id: 'call_c', name: 'tide', arguments: '', cut: true },
      ],
    },
  },
  {
    name: 'calls without index, one whole and one in pieces, with marks; the reason is stop',
    seen: "Gemini's OpenAI endpoint (open-webui/computer#224, THU-MAIC/OpenMAIC#1556)",
    api: 'chat',
    sent: lines(
      call(undefined, 'call_a', 'clock', '{"zone":"UTC"}', {
        extra_content: { google: { thought_signature: 'signed' } },
      }),
      call(undefined, 'call_b', 'tide', '{"port":'),
      call(undefined, undefined, undefined, '"Oslo"}'),
      end('stop', usage(7, 2)),
      '[DONE]',
    ),
    becomes: {
      calls: [CLOCK, { id: 'call_b', name: 'tide', arguments: '{"port":"Oslo"}' }],
      again: { extras: [{ google: { thought_signature: 'signed' } }, null] },
    },
  },
  {
    name: 'two whole calls that are both number 0',
    seen: 'Ollama before 0.5 (ollama/ollama#7881); older gateways',
    api: 'chat',
    sent: lines(
      call(0, 'call_a', 'clock', '{"zone":"UTC"}'),
      call(0, 'call_b', 'tide', '{}'),
      end('tool_calls'),
      '[DONE]',
    ),
    becomes: { calls: [CLOCK, { id: 'call_b', name: 'tide', arguments: '{}' }] },
  },
  {
    name: 'a call without id, its arguments as an object',
    seen: 'llama.cpp and Ollama with some templates',
    api: 'chat',
    sent: lines(call(0, undefined, 'clock', { zone: 'UTC' }), end('tool_calls'), '[DONE]'),
    becomes: { calls: [{ ...CLOCK, id: 'call_1' }] },
  },
  {
    name: 'the id again with every piece of a call',
    seen: 'LiteLLM and some vLLM tool parsers',
    api: 'chat',
    sent: lines(
      call(0, 'call_a', 'clock', '{"zone":'),
      call(0, 'call_a', undefined, '"UTC"}'),
      end('tool_calls'),
      '[DONE]',
    ),
    becomes: { calls: [CLOCK] },
  },
  {
    name: 'reasoning, which goes back under its own name with the calls',
    seen: 'DeepSeek and vLLM: reasoning_content',
    api: 'chat',
    sent: lines(
      chunk({ reasoning_content: 'Which ' }),
      chunk({ reasoning_content: 'zone?' }),
      call(0, 'call_a', 'clock', '{"zone":"UTC"}'),
      end('tool_calls'),
      '[DONE]',
    ),
    becomes: { response: '', calls: [CLOCK], again: { reasoning: { reasoning_content: 'Which zone?' } } },
  },
  {
    name: 'reasoning with signatures',
    seen: 'OpenRouter: reasoning and reasoning_details',
    api: 'chat',
    sent: lines(
      chunk({ reasoning: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }] }),
      chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'x' }] }),
      call(0, 'call_a', 'clock', '{"zone":"UTC"}'),
      end('tool_calls'),
      '[DONE]',
    ),
    becomes: {
      calls: [CLOCK],
      again: {
        reasoning: {
          reasoning: 'Hm',
          reasoning_details: [
            { type: 'reasoning.text', text: 'Hm' },
            { type: 'reasoning.encrypted', data: 'x' },
          ],
        },
      },
    },
  },
  {
    name: 'content as a list of parts',
    seen: 'Mistral API reference: content chunks with thinking beside text',
    api: 'chat',
    sent: lines(
      chunk({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] }),
      chunk({ content: [{ type: 'text', text: 'Hello' }] }),
      end('stop'),
      '[DONE]',
    ),
    becomes: { response: 'Hello' },
  },
  {
    name: 'comments while the server thinks, \\r\\n, fields besides data',
    seen: 'OpenRouter (: OPENROUTER PROCESSING); DeepSeek (: keep-alive); gateways on Windows',
    api: 'chat',
    sent: `: OPENROUTER PROCESSING\r\n\r\n: keep-alive\r\n\r\nevent: message\r\nid: 1\r\ndata: ${JSON.stringify(said('Hello'))}\r\n\r\nretry: 10\r\ndata: ${JSON.stringify(end('stop'))}\r\n\r\ndata: [DONE]\r\n\r\n`,
    becomes: { response: 'Hello', finish: 'stop' },
  },
  {
    name: 'one JSON although a stream was asked for',
    seen: 'servers and gateways that do not stream, or not with tools (Ollama before 0.4, LiteLLM with a cache)',
    api: 'chat',
    contentType: 'application/json',
    sent: JSON.stringify({
      id: 'c',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hello',
            tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'clock', arguments: '{"zone":"UTC"}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      ...usage(7, 2),
    }),
    becomes: { response: 'Hello', calls: [CLOCK], usage: COUNTED },
  },
  {
    name: 'one JSON that calls itself a stream, with spaces before it',
    seen: 'proxies that fix the content type',
    api: 'chat',
    sent: `\n ${JSON.stringify({ choices: [{ index: 0, message: { content: 'Hello' }, finish_reason: 'stop' }] }, null, 2)}\n`,
    becomes: { response: 'Hello', finish: 'stop' },
  },
  {
    name: 'one JSON that does not say why it ended',
    seen: 'small servers that do not stream',
    api: 'chat',
    sent: JSON.stringify({ choices: [{ message: { content: 'Hello' } }] }),
    becomes: { response: 'Hello', finish: 'stop' },
  },
  {
    name: 'a last event without its empty line',
    seen: 'small servers that close right after their last line',
    api: 'chat',
    sent: lines(said('Hello'), end('stop')).trimEnd(),
    becomes: { response: 'Hello', finish: 'stop' },
  },
  {
    name: '[DONE] without a reason',
    seen: 'older llama.cpp and text-generation-webui',
    api: 'chat',
    sent: lines(said('Hello'), '[DONE]'),
    becomes: { response: 'Hello', finish: 'stop' },
  },
  {
    name: 'several choices, of which the first counts',
    seen: 'OpenAI API reference: n > 1',
    api: 'chat',
    sent: lines({ choices: [{ index: 1, delta: { content: 'Bye' } }] }, said('Hello'), end('stop'), '[DONE]'),
    becomes: { response: 'Hello' },
  },
  {
    name: 'letters outside ASCII',
    seen: 'every server: a network piece may end within a letter',
    api: 'chat',
    sent: lines(said('Grüße, 世界 😀'), end('stop'), '[DONE]'),
    becomes: { response: 'Grüße, 世界 😀' },
  },
  {
    name: 'an error inside the stream',
    seen: 'OpenAI, OpenRouter, SGLang (block/goose#8031)',
    api: 'chat',
    sent: lines(said('Hel'), { error: { message: 'overloaded', code: 502 } }),
    becomes: { failure: 'Model provider local answered 502: an error at the provider.' },
    atOnce: { response: 'Done.' },
  },
  {
    name: 'an error with a name of its own',
    seen: 'vLLM: {"object":"error"} (block/goose#8031)',
    api: 'chat',
    sent: lines({ object: 'error', message: 'bad request', code: 400 }),
    becomes: {
      failure: 'Model provider local answered 400: the request was refused; check the model, temperature and tools.',
    },
  },
  {
    name: 'an error that names no status',
    seen: 'small gateways',
    api: 'chat',
    sent: lines({ error: 'something went wrong' }),
    becomes: { failure: 'Model provider local reported an error.' },
  },
  {
    name: 'overload inside the stream, before the first word: it is asked again',
    seen: 'OpenRouter: {"error":{"code":503}}; vLLM',
    api: 'chat',
    sent: lines({ error: { message: 'overloaded', code: 503 } }),
    becomes: { response: 'Done.' },
  },
  {
    name: 'the server gave up in the middle',
    seen: 'OpenRouter: finish_reason error; DeepSeek: insufficient_system_resource',
    api: 'chat',
    sent: lines(said('Hel'), end('insufficient_system_resource'), '[DONE]'),
    becomes: { failure: 'Model provider local ended its answer early.' },
    atOnce: { response: 'Done.' },
  },
  {
    name: 'a page of a proxy instead of an answer',
    seen: 'login pages and error pages with status 200',
    api: 'chat',
    contentType: 'text/html',
    sent: 'data: <html>\n\n',
    becomes: { failure: 'Model provider local returned something that is not an answer.' },
  },
]

const event = (data: { type: string; [field: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const begin = (counted: object = { input_tokens: 7, output_tokens: 1 }) =>
  event({
    type: 'message_start',
    message: { id: 'm', type: 'message', role: 'assistant', model: 'claude', content: [], usage: counted },
  })
const block = (index: number, content_block: object, ...deltas: object[]) =>
  event({ type: 'content_block_start', index, content_block }) +
  deltas.map((delta) => event({ type: 'content_block_delta', index, delta })).join('') +
  event({ type: 'content_block_stop', index })
const stop = (stop_reason: string, output_tokens: number) =>
  event({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens } }) +
  event({ type: 'message_stop' })
const text = (index: number, ...pieces: string[]) =>
  block(index, { type: 'text', text: '' }, ...pieces.map((piece) => ({ type: 'text_delta', text: piece })))

export const ANTHROPIC_STREAMS: ProviderStream[] = [
  {
    name: 'text, with pings',
    seen: 'Anthropic: streaming messages, basic request',
    api: 'anthropic',
    sent: begin() + event({ type: 'ping' }) + text(0, 'Hel', 'lo') + stop('end_turn', 2),
    becomes: { response: 'Hello', usage: COUNTED, finish: 'stop' },
  },
  {
    name: 'what a cache was asked for',
    seen: 'Anthropic: prompt caching, usage',
    api: 'anthropic',
    sent:
      begin({ input_tokens: 7, cache_read_input_tokens: 60, cache_creation_input_tokens: 3, output_tokens: 1 }) +
      text(0, 'Hello') +
      stop('end_turn', 2),
    becomes: { usage: { input_tokens: 70, output_tokens: 2, cached_tokens: 60, cache_write_tokens: 3 } },
  },
  {
    name: 'thoughts with a signature, hidden thoughts, text and two calls',
    seen: 'Anthropic: extended thinking, streaming tool use',
    api: 'anthropic',
    sent:
      begin() +
      block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Which zone?' },
        { type: 'signature_delta', signature: 'signed' },
      ) +
      block(1, { type: 'redacted_thinking', data: 'hidden' }) +
      text(2, 'Let me see.') +
      block(
        3,
        { type: 'tool_use', id: 'call_a', name: 'clock', input: {} },
        { type: 'input_json_delta', partial_json: '' },
        { type: 'input_json_delta', partial_json: '{"zone":' },
        { type: 'input_json_delta', partial_json: '"UTC"}' },
      ) +
      block(4, { type: 'tool_use', id: 'call_b', name: 'tide', input: {} }) +
      stop('tool_use', 2),
    becomes: {
      response: 'Let me see.',
      calls: [CLOCK, { id: 'call_b', name: 'tide', arguments: '' }],
      again: {
        content: [
          { type: 'thinking', thinking: 'Which zone?', signature: 'signed' },
          { type: 'redacted_thinking', data: 'hidden' },
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_use', id: 'call_a', name: 'clock', input: { zone: 'UTC' } },
          { type: 'tool_use', id: 'call_b', name: 'tide', input: {} },
        ],
      },
    },
  },
  {
    name: 'an answer that was cut at the limit',
    seen: 'Anthropic: stop reasons',
    api: 'anthropic',
    sent: begin() + text(0, 'Hel') + stop('max_tokens', 1),
    becomes: { response: 'Hel', finish: 'length' },
  },
  {
    name: 'a refusal',
    seen: 'Anthropic: streaming refusals',
    api: 'anthropic',
    sent: begin() + text(0, 'I ') + stop('refusal', 1),
    becomes: { response: 'I ', finish: 'filtered' },
  },
  {
    name: 'kinds of events and blocks that are new',
    seen: 'Anthropic: versioning, unknown event types',
    api: 'anthropic',
    sent:
      begin() +
      event({ type: 'weather' }) +
      block(0, { type: 'mood', mood: 'good' }, { type: 'mood_delta', mood: '!' }) +
      text(1, 'Hello') +
      stop('end_turn', 2),
    becomes: { response: 'Hello' },
  },
  {
    name: 'one JSON although a stream was asked for',
    seen: 'Anthropic API reference: message; gateways that do not stream',
    api: 'anthropic',
    contentType: 'application/json',
    sent: JSON.stringify({
      type: 'message',
      content: [
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'call_a', name: 'clock', input: { zone: 'UTC' } },
      ],
      stop_reason: 'tool_use',
      usage: { input_tokens: 7, output_tokens: 2 },
    }),
    becomes: { response: 'Hello', calls: [CLOCK], usage: COUNTED },
  },
  {
    name: 'overload inside the stream, before the first word: it is asked again',
    seen: 'Anthropic: error events (overloaded_error)',
    api: 'anthropic',
    sent: begin() + event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    becomes: { response: 'Done.' },
  },
  {
    name: 'an error inside the stream, after the first word',
    seen: 'Anthropic: error events (overloaded_error)',
    api: 'anthropic',
    sent:
      begin() + text(0, 'Hel') + event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    becomes: { failure: 'Model provider local answered 529: an error at the provider.' },
    atOnce: { response: 'Done.' },
  },
  {
    name: 'a call that was cut at the limit, before its arguments',
    seen: 'Anthropic: stop reasons, max_tokens within tool_use',
    api: 'anthropic',
    sent: begin() + block(0, { type: 'tool_use', id: 'call_a', name: 'clock', input: {} }) + stop('max_tokens', 1),
    becomes: { calls: [{ id: 'call_a', name: 'clock', arguments: '', cut: true }] },
  },
  {
    name: 'a stream that ends without its end',
    seen: 'proxies that cut idle connections',
    api: 'anthropic',
    sent: begin() + text(0, 'Hel'),
    becomes: { failure: 'Model provider local ended its answer early.' },
  },
]
