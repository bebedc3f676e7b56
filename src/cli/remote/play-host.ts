import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseIfJson } from '../../lib/json.ts'
import { plainIssue } from '../../lib/text/plain-issue.ts'
import { AskedSteps } from '../../runtime/remote-agent/asked-step.ts'
import type { PlayedHost, StepsHearer } from '../../runtime/remote-agent/check/call-remote.ts'

/** A host on this machine that accepts steps until it is closed. */
export type LocalHost = PlayedHost & { close(): void }

type Reply = { status: number; body: object }

const MAX_BODY_BYTES = 8 * 1024 * 1024

export async function playHost(address: string): Promise<LocalHost> {
  const calls = new Map<string, { token: string; hearer: StepsHearer }>()
  const server = createServer(async (request, response) => {
    const call = calls.get(request.url ?? '')
    const { status, body } = call ? await answer(request, call).catch(refuse) : OVER
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((listening, failed) => {
    server.once('error', failed)
    server.listen(0, address, listening)
  })
  const { port } = server.address() as AddressInfo
  const host = address.includes(':') ? `[${address}]` : address
  return {
    open(_run, hearer) {
      const path = `/calls/${randomBytes(9).toString('hex')}/steps`
      const token = randomBytes(24).toString('base64url')
      calls.set(path, { token, hearer })
      return { steps_url: `http://${host}:${port}${path}`, steps_token: token, close: () => calls.delete(path) }
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function answer(
  request: IncomingMessage,
  { token, hearer }: { token: string; hearer: StepsHearer },
): Promise<Reply> {
  const objected = (status: number, code: string, problem: string) => {
    hearer.object(problem)
    return refusal(status, code, problem)
  }
  if (request.method !== 'POST')
    return objected(405, 'method_not_allowed', `it requested steps with ${request.method} instead of POST`)
  if (request.headers.authorization !== `Bearer ${token}`) {
    return objected(401, 'unauthorized', 'it requested steps without `Authorization: Bearer` and the steps_token')
  }
  const body = await readJson(request)
  const asked = AskedSteps.safeParse(Object(body)['steps'], { error: (issue) => plainIssue(issue) })
  if (!asked.success) {
    const [issue] = asked.error.issues
    const place = ['steps', ...(issue?.path ?? [])].join('.')
    return objected(400, 'validation_failed', `it requested an invalid step: ${place}: ${issue?.message}`)
  }
  const outcome = await hearer.take(asked.data)
  if (outcome === 'over') return OVER
  const data = outcome === 'waiting' ? { status: outcome, steps: [] } : { status: 'done', steps: outcome }
  return { status: 200, body: { success: true, data } }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = []
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > MAX_BODY_BYTES) throw new Error(`the body is longer than ${MAX_BODY_BYTES} bytes`)
    pieces.push(piece)
  }
  return parseIfJson(Buffer.concat(pieces).toString())
}

function refuse(error: unknown): Reply {
  return refusal(400, 'validation_failed', error instanceof Error ? error.message : String(error))
}

function refusal(status: number, code: string, message: string): Reply {
  return { status, body: { success: false, error: { code, message } } }
}

const OVER = refusal(409, 'conflict', 'This call to the agent has ended.')
