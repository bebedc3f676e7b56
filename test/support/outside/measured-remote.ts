// A remote agent as in the documentation, in its own process, which a test can watch. It answers with the most memory
// that it has used so far, in MiB.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveAgent, toNodeHandler } from '../../../sdk/client.ts'

const { AGENT_SECRET: secret = '' } = process.env
const serve = serveAgent(() => String(process.resourceUsage().maxRSS / 1024), { secret })
const server = createServer(toNodeHandler(serve))
server.listen(0, '127.0.0.1', () => console.log(`port: ${(server.address() as AddressInfo).port}`))
