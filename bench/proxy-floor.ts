import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/**
 * The floor for an agent with a model behind HTTP: what somebody would write by hand who needs no more than an answer and
 * one row of it on disk. It asks with `fetch`, reads the stream line by line, stores, and answers; with
 * `Accept: text/event-stream` it passes the pieces on.
 */
const { MODEL_URL = '', MOORAGE_DATA = '.' } = process.env
const db = new DatabaseSync(join(MOORAGE_DATA, 'floor.db'))
db.exec('pragma journal_mode = wal; pragma synchronous = full; create table answers (message text, answer text)')
const insert = db.prepare('insert into answers values (?, ?)')

async function* piecesOf(model: string, message: string) {
  const reply = await fetch(`${MODEL_URL}/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: message }] }),
  })
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of reply.body ?? []) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith('data: ') || line === 'data: [DONE]') continue
      const content = JSON.parse(line.slice(6)).choices[0]?.delta.content
      if (content) yield content as string
    }
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', async () => {
    const { message, model } = JSON.parse(Buffer.concat(chunks).toString()) as { message: string; model: string }
    const streams = request.headers.accept === 'text/event-stream'
    if (streams) response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    let answer = ''
    for await (const piece of piecesOf(model, message)) {
      answer += piece
      if (streams) response.write(`data: ${JSON.stringify(piece)}\n\n`)
    }
    insert.run(message, answer)
    if (streams) return response.end('data: [DONE]\n\n')
    const body = JSON.stringify({ answer })
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
    return response.end(body)
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
