import { chatChunk } from './chat-chunk.ts'
import { readBody, startLocalServer } from './local-server.ts'

/** An OpenAI-compatible server that takes its time and records its prompts. */
export type PatientModel = {
  url: string
  /** What the user said in each prompt, starting with the history, in the order in which the prompts arrived. */
  prompts: string[][]
  close(): Promise<void>
}

type Chat = {
  stream?: boolean
  messages: { role: string; content: string; tool_calls?: unknown }[]
  tools?: { function: { name: string } }[]
}

/** Answers with "Re: " and the message. A message that starts with `ask` first calls the first tool with its rest. */
export async function startPatientModel(wait: (message: string) => Promise<unknown>): Promise<PatientModel> {
  const prompts: string[][] = []
  const server = await startLocalServer(async (request, response) => {
    const { stream, messages, tools } = JSON.parse(await readBody(request)) as Chat
    const said = messages.filter(({ role }) => role === 'user').map(({ content }) => content)
    const message = said.at(-1) ?? ''
    prompts.push(said)
    await wait(message)
    const name = tools?.[0]?.function.name
    const asked = /^ask (.*)/.exec(message)?.[1]
    const result = messages.at(-1)?.role === 'tool'
    const given = JSON.stringify(name === 'ask_person' ? { question: asked } : { message: asked })
    const call =
      name && asked && !result
        ? [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: given } }]
        : undefined
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    const answer = { role: 'assistant', content: call ? null : `Re: ${message}`, ...(call && { tool_calls: call }) }
    const finish_reason = call ? 'tool_calls' : 'stop'
    if (!stream) {
      const body = { id: 'c', object: 'chat.completion', created: 1, model: 'm', usage }
      response.writeHead(200, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify({ ...body, choices: [{ index: 0, message: answer, finish_reason }] }))
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(chatChunk(answer))
    response.write(chatChunk({}, finish_reason))
    response.end(
      `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`,
    )
  })
  return { url: `${server.url}/v1`, prompts, close: server.close }
}
