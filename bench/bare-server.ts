import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The yardstick: a node:http server that only parses the request's JSON and answers one of the same size. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const { message = '' } = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : {}
    const data = { response: message, request_id: 'req_01JCN5W7Q2M8X4T0V9R6B3KZ1A', tokens_used: 8, duration_ms: 0 }
    const body = JSON.stringify({ success: true, data })
    response.writeHead(200, {
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(body),
    })
    response.end(body)
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
