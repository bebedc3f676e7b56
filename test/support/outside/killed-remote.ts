// A remote agent in its own process, for tests that kill it. At each point, it asks the test whether to continue
// (`CONTROL`), so the test knows where it is and can stop it there.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveAgent, toNodeHandler } from '../../../sdk/client.ts'

const { AGENT_SECRET: secret = '', CONTROL = '' } = process.env

async function ask(path: string, fields: Record<string, string>): Promise<string> {
  return (await fetch(`${CONTROL}/${path}?${new URLSearchParams(fields)}`)).text()
}

/** The message whose last event is the last thing that this process does. */
let last: string | undefined

const serve = serveAgent(
  async (run) => {
    const { message } = run
    const at = (name: string) => ask('here', { message, name })
    await at('thinks')
    run.say('Let me look. ')
    await at('said')
    const sea = await run.tool('look', 'look', { message })
    await at('between')
    const number = await run.keep('number', () => ask('make', { message }))
    if (message.includes('person')) await run.askPerson('captain', 'Shall we sail?')
    if (message.includes('sleeps')) await run.sleep('night', 4)
    run.say('Well: ')
    if ((await at('final')) === 'die') last = message
    return `${sea} ${number}.`
  },
  {
    secret,
    // A step that is stored but that the agent doesn't know about yet.
    fetch: async (url, init) => {
      const reply = await fetch(url, init)
      const { steps } = JSON.parse(String(init?.body)) as { steps: { arguments?: { message: string } }[] }
      const message = steps[0]?.arguments?.message
      if (message !== undefined) await ask('here', { message, name: 'stored' })
      return reply
    },
  },
)

const handle = toNodeHandler(serve)
const server = createServer((request, response) => {
  tellEnds(response)
  handle(request, response)
})
server.listen(0, '127.0.0.1', () => console.log(`port: ${(server.address() as AddressInfo).port}`))

/** Tells the test that the last event of an answer has left this process. */
function tellEnds(response: ServerResponse): void {
  const write = response.write.bind(response) as (chunk: Uint8Array, done: () => void) => boolean
  response.write = ((chunk: Uint8Array) =>
    write(chunk, () => {
      if (!Buffer.from(chunk).includes('event: done')) return
      if (last !== undefined) process.kill(process.pid, 'SIGKILL')
      void ask('done', {})
    })) as typeof response.write
}
