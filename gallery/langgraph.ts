import { type GalleryExample, SECRET } from './example.ts'

const URL = 'http://127.0.0.1:4000'

export const langgraph: GalleryExample = {
  id: 'langgraph',
  title: 'LangGraph agent on your server',
  about: 'A LangGraph.js graph that runs on your own server, with sessions, logs and keys from the service.',
  definition: {
    description: 'A LangGraph.js graph that books berths. It runs in agent.mjs.',
    kind: 'remote',
    remote: { url: URL, secret: SECRET },
    memory: { history: 20, recall: 0 },
  },
  server: {
    file: 'agent.mjs',
    url: URL,
    install: 'npm install moorage-sdk @langchain/core@1.2.13 @langchain/langgraph@1.4.18',
  },
  files: {
    'agent.mjs': `// A LangGraph.js graph that books berths, and below it the code that connects it to Moorage.
import { createServer } from 'node:http'
import { AIMessage } from '@langchain/core/messages'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { serveAgent, toNodeHandler } from 'moorage-sdk'

const { AGENT_SECRET: secret, PORT = '4000' } = process.env
if (!secret) throw new Error('Set AGENT_SECRET to the secret that signs the calls')

let lastBerth = 0
const say = (text) => ({ messages: [new AIMessage(text)] })
const lastOf = ({ messages }) => String(messages.at(-1).content)

const graph = new StateGraph(MessagesAnnotation)
  .addNode('greet', ({ messages }) => say(messages.length > 1 ? 'Welcome back.' : 'Ask me to book a berth.'))
  .addNode('book', async (state, { configurable: { run } }) => {
    const boat = /for (?:the )?(\\w+)/i.exec(lastOf(state))?.[1] ?? 'your boat'
    // A stored step runs once, even if the agent is called again after a crash.
    const berth = await run.keep(\`a berth for \${boat}\`, () => ++lastBerth)
    return say(\`Berth \${berth} is booked for \${boat}.\`)
  })
  .addConditionalEdges(START, (state) => (/\\bbook\\b/i.test(lastOf(state)) ? 'book' : 'greet'), ['book', 'greet'])
  .addEdge('greet', END)
  .addEdge('book', END)
  .compile()

const serve = serveAgent(
  async (run) => {
    const messages = [...run.history, { role: 'user', content: run.message }]
    const state = await graph.invoke({ messages }, { signal: run.signal, configurable: { run } })
    return String(state.messages.at(-1).content)
  },
  { secret },
)

const server = createServer(toNodeHandler(serve))
server.listen(Number(PORT), '127.0.0.1', () => console.log('The agent is listening', server.address()))
`,
  },
  tries: [
    { message: 'Ahoy', answer: 'Ask me to book a berth.' },
    { message: 'Please book a berth for Aurora', answer: 'Berth 1 is booked for Aurora.' },
  ],
}
