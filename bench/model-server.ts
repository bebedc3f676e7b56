import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A model behind HTTP, as far as a benchmark needs one: it speaks Chat Completions and answers at once or at a pace. The
 * name of the model says how: `60` sends so many pieces at once, `60-20` one every 20 ms, `tool-60` calls a tool first.
 * It is a remote agent, too.
 */
const PIECE = 'word '

type CompletionRequest = { model: string; stream?: boolean; messages: { role: string }[] }

function chunk(delta: object, more: object = {}): string {
  const fields = { id: 'chatcmpl-bench', object: 'chat.completion.chunk', created: 1_794_700_800, model: 'bench' }
  return `data: ${JSON.stringify({ ...fields, choices: [{ index: 0, delta, finish_reason: null, ...more }] })}\n\n`
}

const piece = Buffer.from(chunk({ content: PIECE }))
const toolCall = Buffer.from(
  chunk({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'tide', arguments: '{}' } }] }) +
    chunk({}, { finish_reason: 'tool_calls' }) +
    'data: [DONE]\n\n',
)

function ending(pieces: number): Buffer {
  const usage = { prompt_tokens: 20, completion_tokens: pieces, total_tokens: 20 + pieces }
  return Buffer.from(
    `${chunk({}, { finish_reason: 'stop' })}data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
  )
}

const delta = Buffer.from(`event: delta\ndata: ${JSON.stringify({ text: PIECE })}\n\n`)

type RemoteCall = { steps_url: string; steps_token: string }

/** As a remote agent: `/remote/60` says this many pieces, `/remote/60/10` keeps ten values first, one after the other. */
async function answerAsRemote(path: string, call: RemoteCall, response: ServerResponse): Promise<void> {
  const [pieces = 0, steps = 0] = path.split('/').slice(2).map(Number)
  for (let i = 0; i < steps; i++) {
    const reply = await fetch(call.steps_url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${call.steps_token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ steps: [{ id: `step-${i}`, type: 'keep', value: i }] }),
    })
    if (!reply.ok) throw new Error(`a step was answered ${reply.status}: ${await reply.text()}`)
    await reply.arrayBuffer()
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  for (let i = 0; i < pieces; i++) response.write(delta)
  response.end('event: done\ndata: {}\n\n')
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (part: Buffer) => chunks.push(part))
  request.on('end', () => {
    if (request.url?.startsWith('/tide')) return response.end('{"tide":"low"}')
    const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
    if (request.url?.startsWith('/remote/')) return answerAsRemote(request.url, body as RemoteCall, response)
    const { model, messages } = body as CompletionRequest
    const [, callsTool, count = '60', pace] = /^(tool-)?(\d+)(?:-(\d+))?$/.exec(model) ?? []
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    if (callsTool && messages.at(-1)?.role !== 'tool') return response.end(toolCall)
    const pieces = Number(count)
    if (pace === undefined) {
      for (let i = 0; i < pieces; i++) response.write(piece)
      return response.end(ending(pieces))
    }
    let sent = 0
    const timer = setInterval(() => {
      if (sent++ < pieces) return response.write(piece)
      clearInterval(timer)
      response.end(ending(pieces))
    }, Number(pace))
    response.on('close', () => clearInterval(timer))
    return undefined
  })
})
// Rows take turns: a server may ask again after minutes, just when this one would close the idle connection.
server.keepAliveTimeout = 600_000
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
