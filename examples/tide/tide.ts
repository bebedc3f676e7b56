// A tool for agents: a small HTTP server that tells the tide of a place.
// It invents it, but always the same for the same place and hour: high water comes about every twelve and a half hours.
import { createServer } from 'node:http'

const CYCLE_MS = 12.42 * 3_600_000

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost')
  const place = searchParams.get('place')
  if (pathname !== '/tide' || !place) {
    response.writeHead(404).end('Ask for /tide?place=Dover\n')
    return
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ place, ...tideAt(place, Date.now()) }))
})

const port = Number(process.env['PORT'] ?? 8700)
server.listen(port, '127.0.0.1', () => {
  const address = server.address()
  console.log(`The tide is at http://127.0.0.1:${typeof address === 'object' ? address?.port : port}/tide?place=Dover`)
})

function tideAt(place: string, now: number): { height_m: number; rising: boolean } {
  const shift = [...place].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0)
  const angle = (now / CYCLE_MS) * 2 * Math.PI + shift
  return { height_m: Number((3 + 2 * Math.sin(angle)).toFixed(1)), rising: Math.cos(angle) > 0 }
}
