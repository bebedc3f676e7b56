import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { type Client, type Listener, MoorageError } from '../../../../sdk/client.ts'
import { newWebhookSecret, signDelivery } from '../../../webhooks/signature.ts'
import { list, takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { patiently } from '../../connect/service-client.ts'
import { usage } from '../../failure.ts'
import { note, paint, print, printPainted, shown, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

type Body = Parameters<Client['listeners']['create']>[0]
type ListenOptions = Common & { forwardTo: string; events?: Body['events']; agent?: string }

type ListenerEvent = Listener['deliveries'][number]
type ForwardResult = {
  event: string
  event_id: string
  status: number | null
  error: string | null
  duration_ms: number
}

const WAIT_MS = 5_000
/** The time limit that the service also uses for receivers. */
const FORWARD_TIMEOUT_MS = 15_000

export function listen(command: Command, world: World): void {
  takesService(command)
    .description('Forward signed events to a local server until Ctrl-C. Needs no public URL')
    .requiredOption('--forward-to <address>', 'URL to forward to, such as localhost:3000/hooks')
    .option('--events <list...>', 'agent.completed, agent.failed, … (default: all)', list)
    .option('--agent <agent>', 'only events of this agent')
    .addHelpText('after', '\nEvents are signed with WEBHOOK_SECRET, or with a new secret that is shown at startup.')
    .action(async (options: ListenOptions) => {
      const target = targetOf(options.forwardTo)
      const secret = world.env.WEBHOOK_SECRET || newWebhookSecret(randomBytes)
      await withClient(world, options, async (client) => {
        const body: Body = { events: options.events ?? ['*'], agent_id: options.agent }
        // The listener may have to be created again. The client provides a separate one-time code each time.
        const first = await client.listeners.create(body)
        success(world, `Forwarding ${body.events.join(', ')} to ${target.href}; press Ctrl-C to stop`)
        if (!world.env.WEBHOOK_SECRET)
          note(world, `  Signing secret: ${secret} (your receiver needs it to verify events)`)
        await forwardAll(world, client, { listener: first, body, target, secret }, options)
      })
    })
}

function targetOf(given: string): URL {
  const url = URL.parse(/^https?:\/\//.test(given) ? given : `http://${given}`)
  if (!url) throw usage(`"${given}" is not a valid URL. Use localhost:3000, or a full http(s) URL.`)
  return url
}

type ForwardOptions = { listener: Listener; body: Body; target: URL; secret: string }

/**
 * An event counts as received only after it was forwarded. If the connection breaks before that, the service sends the
 * event again.
 */
async function forwardAll(
  world: World,
  client: Client,
  { listener, body, target, secret }: ForwardOptions,
  options: Common,
): Promise<never> {
  let id = listener.id
  let received: string[] = []
  for (;;) {
    const query = { wait_ms: WAIT_MS, received: received.length > 0 ? received.join() : undefined }
    const heard = await patiently(world, () => askOrRenew(query))
    if (heard.id !== id) note(world, 'Reconnected. Events sent in the meantime were missed.')
    id = heard.id
    received = heard.deliveries.map((delivery) => delivery.id)
    await Promise.all(
      heard.deliveries.map(async (delivery) => tell(world, await forward(delivery, target, secret), options)),
    )
  }

  /**
   * Requests the next events. If the listener has ended because nothing was requested for two minutes, creates a new
   * one.
   */
  async function askOrRenew(query: Parameters<Client['listeners']['get']>[1]): Promise<Listener> {
    try {
      return await client.listeners.get(id, query, { retries: 0 })
    } catch (error) {
      if (!(error instanceof MoorageError && error.code === 'not_found')) throw error
      return client.listeners.create(body, { retries: 0 })
    }
  }
}

/** Sends the event as the service would. */
async function forward({ event, event_id, body }: ListenerEvent, target: URL, secret: string): Promise<ForwardResult> {
  const started = performance.now()
  const ended = (status: number | null, error: string | null): ForwardResult => {
    return { event, event_id, status, error, duration_ms: Math.round(performance.now() - started) }
  }
  const timestamp = Math.floor(Date.now() / 1000)
  try {
    const response = await fetch(target, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json; charset=utf-8',
        ...signDelivery({ id: event_id, timestamp, body }, [secret]),
        'X-Service-Event': event,
        'X-Service-Attempt': '1',
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
    })
    await response.body?.cancel()
    return ended(response.status, response.ok ? null : 'http_error')
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: string } }
    return ended(null, name === 'TimeoutError' ? 'timeout' : (cause?.code ?? name))
  }
}

function tell(world: World, result: ForwardResult, { json }: Common): void {
  if (json) return print(world, JSON.stringify(result))
  const { event, event_id, status, error, duration_ms } = result
  const outcome = paint(world, 'stdout', error === null ? 'green' : 'red', String(status ?? error))
  printPainted(world, `${shown(world, 'stdout', `${event.padEnd(22)} ${event_id}`)} ${outcome} ${duration_ms} ms`)
}
