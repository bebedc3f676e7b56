import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { chatChunk } from './chat-chunk.ts'
import { readBody, startLocalServer } from './local-server.ts'

/** A model that says what the test says, when the test says it. */
export type SpeakingModel = {
  /** The base URL of an OpenAI-compatible endpoint. */
  url: string
  /** The messages that it was sent, in order. */
  messages: string[]
  /** Resolves when the model is asked again. */
  next(): Promise<Speech>
  close(): Promise<void>
}

/** One answer of the model. Anything said after its end is dropped. */
export type Speech = {
  say(text: string): void
  finish(): void
  /** Resolves when the answer has ended or its reader has disconnected. */
  closed: Promise<unknown>
}

type Chat = { messages: { role: string; content: string }[] }

export async function startSpeakingModel(): Promise<SpeakingModel> {
  const messages: string[] = []
  const waiting: ((speech: Speech) => void)[] = []
  const begun: Speech[] = []
  const { url, close } = await startLocalServer(async (request, response) => {
    const asked = JSON.parse(await readBody(request)) as Chat
    messages.push(asked.messages.findLast(({ role }) => role === 'user')?.content ?? '')
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const speech = speak(response)
    const waiter = waiting.shift()
    if (waiter) waiter(speech)
    else begun.push(speech)
  })
  const next = () => {
    const ready = begun.shift()
    return ready ? Promise.resolve(ready) : new Promise<Speech>((resolve) => waiting.push(resolve))
  }
  return { url: `${url}/v1`, messages, next, close }
}

function speak(response: ServerResponse): Speech {
  return {
    say(content) {
      if (!response.writableEnded) response.write(chatChunk({ role: 'assistant', content }))
    },
    finish() {
      if (!response.writableEnded) response.end(`${chatChunk({}, 'stop')}data: [DONE]\n\n`)
    },
    closed: once(response, 'close'),
  }
}
