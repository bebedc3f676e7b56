import { hash } from 'node:crypto'
import { readBody, startLocalServer } from './local-server.ts'

type Block = { type?: string; cache_control?: unknown; [field: string]: unknown }
type ClaudeRequest = {
  tools?: Block[]
  tool_choice?: unknown
  system?: Block[]
  messages: { role: string; content: Block[] }[]
}
/** What the vendor bills. The kinds of input don't overlap. */
type Bill = { input: number; read: number; written: number; output: number }

const MOST_MARKS = 4
/** A shorter prefix isn't cached. */
const LEAST_TOKENS = 1024
/** How long a prefix stays cached if it isn't read. */
const KEPT_MS = 5 * 60_000
/** How many blocks before a mark are looked up. */
const LOOK_BACK = 20

/**
 * A server of Anthropic's protocol that caches prompts and bills them as the vendor documents it. For each message, it
 * first calls the tool `look_up`, if there are tools, and answers when the result is there.
 */
export async function startCachingClaude() {
  /** When each prefix was last written or read. */
  const kept = new Map<string, number>()
  let now = 0
  const requests: ClaudeRequest[] = []
  const bill: Bill = { input: 0, read: 0, written: 0, output: 0 }
  const server = await startLocalServer(async (request, response) => {
    const body = JSON.parse(await readBody(request)) as ClaudeRequest
    requests.push(body)
    const usage = readPrompt(body, kept, now)
    if (usage === undefined) {
      response.writeHead(400, { 'content-type': 'application/json' })
      const error = {
        type: 'invalid_request_error',
        message: 'A maximum of 4 blocks with cache_control may be provided.',
      }
      return void response.end(JSON.stringify({ type: 'error', error }))
    }
    const isAnswered = !body.tools || body.messages.at(-1)?.content.some(({ type }) => type === 'tool_result')
    const output = 20
    for (const [kind, tokens] of Object.entries({ ...usage, output })) bill[kind as keyof Bill] += tokens
    const block = isAnswered
      ? { type: 'text', text: `Berth ${requests.length} is free.` }
      : { type: 'tool_use', id: `toolu_${requests.length}`, name: 'look_up', input: { berth: `${requests.length}` } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify({
        id: `msg_${requests.length}`,
        type: 'message',
        role: 'assistant',
        model: 'claude-test',
        content: [block],
        stop_reason: isAnswered ? 'end_turn' : 'tool_use',
        usage: {
          input_tokens: usage.input,
          cache_read_input_tokens: usage.read,
          cache_creation_input_tokens: usage.written,
          output_tokens: output,
        },
      }),
    )
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { url: server.url, requests, bill, pass, close: () => server.close() }
}

/** How much of the prompt was cached, is cached now, and is neither. Undefined if it has too many marks. */
function readPrompt(
  { tools = [], system = [], messages, tool_choice }: ClaudeRequest,
  kept: Map<string, number>,
  now: number,
) {
  const parts = [
    ...tools,
    ...system,
    ...messages.flatMap(({ role, content }) => content.map((one) => ({ role, ...one }))),
  ]
  const firstOfMessages = tools.length + system.length
  const prefixes: { key: string; tokens: number; isMarked: boolean }[] = []
  let key = ''
  let tokens = 0
  for (const [index, { cache_control, ...part }] of parts.entries()) {
    const text = JSON.stringify(part)
    const choice = index === firstOfMessages ? JSON.stringify(tool_choice) : ''
    key = hash('sha256', key + choice + text)
    tokens += Math.ceil(text.length / 4)
    prefixes.push({ key, tokens, isMarked: cache_control !== undefined })
  }
  const marks = prefixes.flatMap(({ isMarked }, index) => (isMarked ? [index] : []))
  if (marks.length > MOST_MARKS) return undefined
  const known = marks.flatMap((mark) =>
    prefixes
      .slice(Math.max(0, mark - LOOK_BACK), mark + 1)
      .filter((prefix) => now - (kept.get(prefix.key) ?? Number.NEGATIVE_INFINITY) < KEPT_MS),
  )
  for (const prefix of known) kept.set(prefix.key, now)
  const read = Math.max(0, ...known.map((prefix) => prefix.tokens))
  const marked = marks.flatMap((mark) => prefixes[mark] ?? []).filter((prefix) => prefix.tokens >= LEAST_TOKENS)
  for (const prefix of marked) kept.set(prefix.key, now)
  const upTo = Math.max(read, ...marked.map((prefix) => prefix.tokens))
  return { read, written: upTo - read, input: tokens - upTo }
}
