import { secretNameOf } from '../../../../gallery/example.ts'

/** The files of a remote agent. None of them contains the value of its secret. */
export function remoteTemplate(name: string, server: string) {
  const secret_name = secretNameOf(name)
  return { secret_name, definition: definition(name, server, secret_name), program: program(name) }
}

function definition(name: string, server: string, secret: string): string {
  return `name: ${name}
description: Runs in ${server}, and asks the service for what it needs.
kind: remote

remote:
  # A URL on this machine must be allowed: start the service with MOORAGE_OUTGOING__ALLOW_INSECURE=true and
  # MOORAGE_OUTGOING__ALLOWED_CIDRS=127.0.0.0/8.
  url: http://127.0.0.1:4000
  # The name of the secret that signs the calls, never its value.
  secret: ${secret}

# Tools that the agent can call with run.tool('look', 'look', { where: 'west' }).
# tools:
#   - { type: http, name: look, url: https://example.com/look, method: POST }

memory:
  history: 20 # turns of the session that the agent gets
  recall: 5 # memories of the user that it gets
`
}

function program(name: string): string {
  return `import { createServer } from 'node:http'
import { serveAgent, toNodeHandler } from 'moorage-sdk'

const { AGENT_SECRET: secret, PORT = '4000' } = process.env
if (!secret) throw new Error('Set AGENT_SECRET to the secret that signs the calls')

const serve = serveAgent(
  async (run) => {
    run.say('I am ${name}. ')
    // A step runs once, even if the agent is called again after a crash.
    const begun = await run.keep('begun', () => new Date().toISOString())
    run.log('info', \`began at \${begun}\`)
    return \`You said: \${run.message}\`
  },
  { secret },
)

const server = createServer(toNodeHandler(serve))
server.listen(Number(PORT), '127.0.0.1', () => console.log('${name} listens', server.address()))
`
}
