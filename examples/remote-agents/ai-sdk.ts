// An agent made with the AI SDK that books berths, and below it the code that connects it to Moorage.
import { createServer } from 'node:http'
import { openai } from '@ai-sdk/openai'
import { isStepCount, streamText, tool } from 'ai'
import { z } from 'zod'
import { type AgentRun, serveAgent, toNodeHandler } from '../../sdk/client.ts'

const { AGENT_SECRET: secret, MODEL = 'gpt-5-mini', PORT = '4000' } = process.env
if (!secret) throw new Error('Set AGENT_SECRET to the secret that signs the calls')

let lastBerth = 0
const book = (boat: string) => `Berth ${++lastBerth} is booked for ${boat}`

const bookBerth = (run: AgentRun) =>
  tool({
    description: 'Books a berth for a boat',
    inputSchema: z.object({ boat: z.string() }),
    execute: ({ boat }) => run.keep(`a berth for ${boat}`, () => book(boat)),
  })

const serve = serveAgent(
  async (run) => {
    const { stream, usage } = streamText({
      model: openai.chat(MODEL),
      messages: [...run.history, { role: 'user', content: run.message }],
      tools: { book_berth: bookBerth(run) },
      stopWhen: isStepCount(5),
      abortSignal: run.signal,
    })
    for await (const part of stream) {
      if (part.type === 'text-delta') run.say(part.text)
      if (part.type === 'error') throw part.error
    }
    const { inputTokens = 0, outputTokens = 0 } = await usage
    run.usage({ model: `openai/${MODEL}`, input_tokens: inputTokens, output_tokens: outputTokens })
  },
  { secret },
)

const server = createServer(toNodeHandler(serve))
server.listen(Number(PORT), '127.0.0.1', () => console.log('The agent is listening', server.address()))
