// An agent made with the OpenAI Agents SDK that books berths, and below it the code that connects it to Moorage.
import { createServer } from 'node:http'
import { Agent, assistant, run as runAgent, setOpenAIAPI, setTracingDisabled, tool, user } from '@openai/agents'
import { z } from 'zod'
import { type AgentRun, serveAgent, toNodeHandler } from '../../sdk/client.ts'

const { AGENT_SECRET: secret, MODEL = 'gpt-5-mini', PORT = '4000' } = process.env
if (!secret) throw new Error('Set AGENT_SECRET to the secret that signs the calls')
setOpenAIAPI('chat_completions')
setTracingDisabled(true)

let lastBerth = 0
const book = (boat: string) => `Berth ${++lastBerth} is booked for ${boat}`

const bookBerth = tool<z.ZodObject<{ boat: z.ZodString }>, AgentRun>({
  name: 'book_berth',
  description: 'Books a berth for a boat',
  parameters: z.object({ boat: z.string() }),
  execute: ({ boat }, context) => context?.context.keep(`a berth for ${boat}`, () => book(boat)),
})
const harbour = new Agent<AgentRun>({ name: 'harbour', model: MODEL, tools: [bookBerth] })

const serve = serveAgent(
  async (run) => {
    const before = run.history.map(({ role, content }) => (role === 'user' ? user(content) : assistant(content)))
    const answer = await runAgent(harbour, [...before, user(run.message)], {
      stream: true,
      context: run,
      signal: run.signal,
    })
    for await (const text of answer.toTextStream()) run.say(text)
    await answer.completed
    const { inputTokens, outputTokens } = answer.state.usage
    run.usage({ model: `openai/${MODEL}`, input_tokens: inputTokens, output_tokens: outputTokens })
  },
  { secret },
)

const server = createServer(toNodeHandler(serve))
server.listen(Number(PORT), '127.0.0.1', () => console.log('The agent is listening', server.address()))
