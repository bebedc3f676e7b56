import { randomBytes } from 'node:crypto'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { openSockets } from '../../../runtime/providers/provider-sockets.ts'
import type { RemoteTrial } from '../../../runtime/remote-agent/check/call-remote.ts'
import { type CheckedPoint, checkPoints } from '../../../runtime/remote-agent/check/check-points.ts'
import { SIGNING_SECRET } from '../../../runtime/remote-agent/remote-exchange.ts'
import { newWebhookSecret, signDelivery } from '../../../webhooks/signature.ts'
import { seconds } from '../../command.ts'
import { proxiesOf } from '../../connect/service-client.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { playHost } from '../../remote/play-host.ts'
import { printJson } from '../../terminal/output.ts'
import { readSecret } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'
import { failIfAny, tell } from './agents.ts'

type CheckOptions = {
  secretEnv?: string
  message: string
  step?: Map<string, string>
  timeout: number
  host: string
  json?: boolean
}

const USUAL_SECRET = 'AGENT_SECRET'
/** The path at which A2A agents publish their cards. */
const CARD = /\/\.well-known\/agent(-card)?\.json$/

/**
 * Checks the same points as the service does for `moorage agents check`. Here this machine plays the service, so an
 * agent can be checked while it is written, before a service knows it or can reach it.
 */
export function remote(command: Command, world: World): void {
  command
    .command('check')
    .description("Check a remote agent's implementation. Needs no service")
    .argument('<url>', "the agent's URL")
    .option(
      '--secret-env <name>',
      `environment variable with its secret (default: ${USUAL_SECRET}; then stdin, or a prompt)`,
    )
    .option('-m, --message <text>', 'the message that is sent', 'Hello')
    .option('--step <id=value>', "a step's result, text or JSON; can be repeated", stepAnswer)
    .addOption(new Option('--timeout <duration>', 'time limit of each call').argParser(seconds).default(30, '30s'))
    .option('--host <address>', 'IP address or host of this machine, where the agent sends its steps', '127.0.0.1')
    .option('--json', 'print JSON')
    .action(async (given: string, options: CheckOptions) => {
      const url = addressOf(given)
      if (CARD.test(new URL(url).pathname)) throw cardGiven()
      const secret = await signingSecret(world, options)
      const host = await openedHost(options.host)
      const { message, timeout, step = new Map<string, string>() } = options
      const trial: RemoteTrial = {
        url,
        secret,
        wrongSecret: newWebhookSecret(randomBytes),
        message,
        timeout_ms: timeout * 1000,
        host,
        openSockets: (origin) => openSockets(origin, proxiesOf(world)),
        sign: (signed, by) => signDelivery(signed, [by]),
        signal: world.signal,
      }
      const points: CheckedPoint[] = []
      try {
        for await (const point of checkPoints(trial, step)) {
          points.push(point)
          if (!options.json) tell(world, point)
        }
      } finally {
        host.close()
      }
      if (options.json) printJson(world, points)
      failIfAny(points)
    })
}

function addressOf(given: string): string {
  const url = URL.parse(given)
  if (!url || !/^https?:$/.test(url.protocol)) throw usage(`"${given}" is not a valid URL. Use a full http(s) URL.`)
  return url.href
}

function cardGiven(): Failure {
  return new Failure(
    EXIT.failed,
    "This is an A2A agent's card, and this command only checks agents that follow Moorage's own contract.",
    '  Create an agent with remote.a2a, then run: moorage agents check <agent>',
  )
}

async function signingSecret(world: World, { secretEnv }: CheckOptions): Promise<string> {
  const name = secretEnv ?? USUAL_SECRET
  const known = world.env[name]
  if (!known && secretEnv !== undefined) throw usage(`The variable ${name} is not set.`)
  const secret = known || (await readSecret(world, "The agent's secret"))
  if (secret === '') throw usage(`Specify the agent's secret in ${USUAL_SECRET}, or on stdin.`)
  if (!SIGNING_SECRET.test(secret)) throw usage('The secret must be whsec_ followed by at least 18 bytes in base64.')
  return secret
}

async function openedHost(address: string) {
  try {
    return await playHost(address)
  } catch (error) {
    throw usage(`Can't listen for steps at ${address} (${(error as NodeJS.ErrnoException).code}).`)
  }
}

function stepAnswer(text: string, before = new Map<string, string>()): Map<string, string> {
  const [, id, value] = /^([^=]+)=([\s\S]*)$/.exec(text) ?? []
  if (id === undefined || value === undefined) throw new InvalidArgumentError('It must be id=value.')
  return before.set(id, value)
}
