// WEBHOOK_SECRET=whsec_… node receiver.ts
import { createServer, type IncomingMessage } from 'node:http'
import { isGenuine } from './verify.ts'

const MAX_BODY = 1024 * 1024
const REMEMBERED = 10_000

/** Separated by commas during a rotation. */
const secrets = (process.env['WEBHOOK_SECRET'] ?? '').split(',').filter(Boolean)
if (secrets.length === 0) throw new Error('Set WEBHOOK_SECRET to the secret that Create Webhook returned')

/** A delivery may come twice; its id stays the same. A real receiver keeps this in its database. */
const seen = new Set<string>()

const server = createServer(async (request, response) => {
  const answer = (status: number) => response.writeHead(status).end()
  if (request.method !== 'POST') return answer(405)
  let body: Buffer | undefined
  try {
    body = await readBody(request)
  } catch {
    // The sender broke off. The delivery comes again.
    return response.destroy()
  }
  if (!body) return answer(413)
  if (!isGenuine(request.headers, body, secrets)) return answer(401)

  const event = JSON.parse(body.toString())
  if (!seen.has(event.id)) {
    seen.add(event.id)
    if (seen.size > REMEMBERED) seen.delete(seen.values().next().value as string)
    // Queue slow work and answer at once: after 15 seconds the delivery counts as failed and comes again.
    console.log(`${event.type} ${event.id} ${JSON.stringify(event.data)}`)
  }
  answer(204)
})

server.listen(Number(process.env['PORT'] ?? 8080), process.env['HOST'] ?? '127.0.0.1', () => {
  const { address, port } = server.address() as { address: string; port: number }
  console.log(`listening on http://${address}:${port}`)
})

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
