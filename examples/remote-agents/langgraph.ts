// A LangGraph.js agent that books berths, and below it the code that connects it to Moorage.
import { createServer } from 'node:http'
import { AIMessageChunk, type UsageMetadata } from '@langchain/core/messages'
import { tool } from '@langchain/core/tools'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { z } from 'zod'
import { type AgentRun, serveAgent, toNodeHandler } from '../../sdk/client.ts'

const { AGENT_SECRET: secret, MODEL = 'gpt-5-mini', PORT = '4000' } = process.env
if (!secret) throw new Error('Set AGENT_SECRET to the secret that signs the calls')

let lastBerth = 0
const book = (boat: string) => `Berth ${++lastBerth} is booked for ${boat}`

const bookBerth = tool(
  ({ boat }, { configurable }) => {
    const run: AgentRun = configurable?.['run']
    return run.keep(`a berth for ${boat}`, () => book(boat))
  },
  { name: 'book_berth', description: 'Books a berth for a boat', schema: z.object({ boat: z.string() }) },
)
const model = new ChatOpenAI({ model: MODEL }).bindTools([bookBerth])

const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: await model.invoke(messages) }))
  .addNode('tools', new ToolNode([bookBerth]))
  .addEdge(START, 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile()

const serve = serveAgent(
  async (run) => {
    const messages = [...run.history, { role: 'user', content: run.message }]
    const options = { streamMode: 'messages' as const, signal: run.signal, configurable: { run } }
    for await (const [piece] of await graph.stream({ messages }, options)) {
      if (!AIMessageChunk.isInstance(piece)) continue
      run.say(piece.text)
      const spent = piece.usage_metadata as UsageMetadata | undefined
      if (spent)
        run.usage({ model: `openai/${MODEL}`, input_tokens: spent.input_tokens, output_tokens: spent.output_tokens })
    }
  },
  { secret },
)

const server = createServer(toNodeHandler(serve))
server.listen(Number(PORT), '127.0.0.1', () => console.log('The agent is listening', server.address()))
