import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Writer } from '../src/http/dialects/dialect.ts'
import { EventStream } from '../src/http/server/replies/event-stream.ts'

const writer = { event: ({ data }: { data: unknown }) => `${data};` } as unknown as Writer
const event = (data: string) => ({ id: data, event: 'delta', data })

describe('a stream of events', { timeout: 5_000 }, () => {
  let responses = Promise.withResolvers<ServerResponse>()
  const server = createServer((_request, response) => responses.resolve(response))
  before(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
  after(() => server.close())

  /** A stream on a real connection, and what its client reads piece by piece. */
  async function open() {
    responses = Promise.withResolvers()
    const answered = fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    const stream = new EventStream(await responses.promise, {}, writer)
    const pieces = async () => (await answered).body?.pipeThrough(new TextDecoderStream()).getReader()
    return { stream, pieces }
  }

  test('an answer that comes at once is one write; later events wait for no timer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { stream, pieces } = await open()
    stream.send(event('start'))
    stream.send(event('a'))
    t.mock.timers.tick(5)
    const reader = await pieces()
    assert.equal((await reader?.read())?.value, 'start;a;')
    stream.send(event('b'))
    stream.send(event('c'))
    assert.equal((await reader?.read())?.value, 'b;c;')
    stream.send(event('d'))
    stream.end()
    assert.equal((await reader?.read())?.value, 'd;')
    assert.equal((await reader?.read())?.done, true)
  })

  test('an end within the first moment is part of the only write', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { stream, pieces } = await open()
    stream.send(event('start'))
    stream.send(event('done'))
    stream.end()
    const reader = await pieces()
    assert.equal((await reader?.read())?.value, 'start;done;')
    assert.equal((await reader?.read())?.done, true)
  })
})
