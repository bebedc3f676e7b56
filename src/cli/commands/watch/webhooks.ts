import type { Command } from 'commander'
import type { Webhook } from '../../../../sdk/client.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import { note } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { listen } from './listen.ts'
import { verify } from './verify-webhook.ts'

/** `disabled (failing)` */
export function statusOf({ status, disabled_reason }: Pick<Webhook, 'status' | 'disabled_reason'>): string {
  return disabled_reason === null ? status : `${status} (${disabled_reason})`
}

export function tellSecret(world: World): void {
  note(world, '  Verify deliveries with this secret: `moorage webhooks verify --help`')
}

const DESCRIPTION = '--description <text>'

const SPECS: CommandSpecs = {
  createWebhook: {
    args: ['url'],
    options: { description: DESCRIPTION },
    read({ body }) {
      if (body['events']) return
      throw usage('Specify events with --events, such as --events agent.completed,agent.failed or --events "*".')
    },
    done: ({ id, url }) => `Created ${id} for ${url}`,
    after: tellSecret,
  },
  listWebhooks: { columns: { of: ['id', 'url', 'agent_id', 'events', ['STATUS', statusOf]] } },
  getWebhook: {},
  updateWebhook: {
    about: 'Change a webhook, or enable one that was disabled',
    options: { description: DESCRIPTION },
    read({ body, options }) {
      if (Object.keys(body).length > 0) return
      const hint = options.url && "  --url is the service's URL. --target changes the webhook's."
      throw usage('Specify what to change, such as --status enabled', hint)
    },
  },
  deleteWebhook: {
    about: 'Delete a webhook and its queued deliveries',
    confirm: 'Delete {} and its queued deliveries?',
  },
  rotateWebhookSecret: {
    about: "Rotate a webhook's secret. Prints only the new secret to stdout",
    options: { grace_period_seconds: 'how long deliveries carry both signatures (default: 24h)' },
    done: ({ id }) => `Rotated the secret of ${id}`,
    after: tellSecret,
  },
  testWebhook: {
    about: 'Send a ping now and show how it was received',
    waiting: 'Sending a ping',
    verify({ delivered, error, response_status }) {
      if (!delivered) throw new Failure(EXIT.failed, `Not received: ${error} ${response_status ?? ''}`.trim())
    },
    done: ({ response_status, duration_ms }) => `Received: ${response_status} in ${duration_ms} ms`,
  },
  listDeliveries: {
    name: 'deliveries',
    about: "List a webhook's deliveries, or show one with its body. The delivery's ID alone is enough",
    params: { webhook_id: 'webhook_id or the ID of a delivery' },
    more: (command) => command.argument('[delivery_id]'),
    limit: 20,
    single: (client, { ref, words: [id] }) => {
      if (id !== undefined) return client.webhooks.delivery(ref, id)
      return ref.startsWith('dlv_') ? client.webhooks.findDelivery(ref) : undefined
    },
    columns: {
      of: [
        'id',
        'event',
        'status',
        ['ATTEMPTS', ({ attempt_count }) => attempt_count],
        ['LAST', ({ attempts }) => attempts.at(-1)?.error ?? attempts.at(-1)?.response_status],
        ['NEXT', ({ next_attempt_at }) => next_attempt_at],
        'created_at',
      ],
    },
  },
  getDelivery: false,
  findDelivery: false,
  redeliver: { about: 'Send a delivery again', done: '{} is being sent again' },
}

export function webhooks(command: Command, world: World): void {
  addOperations(command, world, 'webhooks', SPECS)
  listen(command.command('listen'), world)
  verify(command.command('verify'), world)
}
