import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { setImmediate as nextPass } from 'node:timers/promises'
import { FairBody } from '../../src/http/server/connections/connections.ts'
import { head } from '../support/clients/raw.ts'

/** What Node reads of a socket at once. */
const READ_BYTES = 65_536
const TINY = '1\r\nx\r\n'
const large = (length: number) => `${length.toString(16)}\r\n${'x'.repeat(length)}\r\n`

/** The most bytes that were read of the connection in one pass of the event loop. */
async function mostInAPass(socket: Socket, isOver: () => boolean): Promise<number> {
  let [most, last] = [0, socket.bytesRead]
  while (!isOver()) {
    await nextPass()
    most = Math.max(most, socket.bytesRead - last)
    last = socket.bytesRead
  }
  return most
}

// The many tiny chunks have to be noticed first, in a part of the body that is not checked.
const NOTICED = TINY.repeat(2_000)
const ofOneRead = (rest: string) => TINY.repeat((READ_BYTES - rest.length) / TINY.length) + rest

for (const [name, wire] of Object.entries({
  'a chunk for each byte': TINY.repeat(250_000),
  'the same, with a large chunk where a read ends': ofOneRead(large(5_120)).repeat(23),
  'half of it one large chunk': ofOneRead(large(32_768)).repeat(23),
})) {
  test(`a body is read once in a pass of the event loop: ${name}`, async (t) => {
    const server = createServer({ IncomingMessage: FairBody })
    t.after(() => server.close())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
    client.write(head('POST /', { 'Transfer-Encoding': 'chunked' }) + NOTICED)
    const [request, response] = await once(server, 'request')
    let [length, isOver] = [0, false]
    request.on('data', (piece: Buffer) => {
      length += piece.length
    })
    request.once('end', () => {
      isOver = true
      response.end()
    })
    while (length < 2_000) await nextPass()
    client.write(`${wire}0\r\n\r\n`)
    const most = await mostInAPass(request.socket, () => isOver)
    assert.equal(length, 2_000 + wire.replaceAll(/[^x]/g, '').length)
    assert.ok(most <= READ_BYTES, `${most} bytes`)
    client.destroy()
  })
}
