// An agent in plain TypeScript that books berths, and below it the code that connects it to Moorage.
import { createServer } from 'node:http'
import { type AgentRun, serveAgent, toNodeHandler } from '../../sdk/client.ts'

const { AGENT_SECRET: secret, MODEL = 'gpt-5-mini', PORT = '4000' } = process.env
const { OPENAI_API_KEY = '', OPENAI_BASE_URL = 'https://api.openai.com/v1' } = process.env
if (!secret) throw new Error('Set AGENT_SECRET to the secret that signs the calls')

type ToolCall = { id: string; function: { name: string; arguments: string } }
type Message = { role: string; content: string | null; tool_calls?: ToolCall[]; tool_call_id?: string }
type Completion = { choices: [{ message: Message }]; usage: { prompt_tokens: number; completion_tokens: number } }

let lastBerth = 0
const book = (boat: string) => `Berth ${++lastBerth} is booked for ${boat}`

const parameters = { type: 'object', properties: { boat: { type: 'string' } }, required: ['boat'] }
const description = 'Books a berth for a boat'
const tools = [{ type: 'function', function: { name: 'book_berth', description, parameters } }]

async function askModel(messages: Message[], signal: AbortSignal): Promise<Completion> {
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OPENAI_API_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: MODEL, messages, tools }),
    signal,
  })
  if (!response.ok) throw new Error(`The model answered ${response.status}`)
  return (await response.json()) as Completion
}

async function answer(run: AgentRun): Promise<string> {
  const messages: Message[] = [...run.history, { role: 'user', content: run.message }]
  for (let round = 0; round < 5; round += 1) {
    const { choices, usage } = await askModel(messages, run.signal)
    const [{ message }] = choices
    run.usage({ model: `openai/${MODEL}`, input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens })
    if (!message.tool_calls?.length) return message.content ?? ''
    messages.push(message)
    for (const { id, function: called } of message.tool_calls) {
      const { boat } = JSON.parse(called.arguments) as { boat: string }
      const content = await run.keep(`a berth for ${boat}`, () => book(boat))
      messages.push({ role: 'tool', tool_call_id: id, content })
    }
  }
  throw new Error("The model didn't finish within its steps")
}

const server = createServer(toNodeHandler(serveAgent(answer, { secret })))
server.listen(Number(PORT), '127.0.0.1', () => console.log('The agent is listening', server.address()))
