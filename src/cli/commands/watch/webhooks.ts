import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import type { Webhook } from '../../../../sdk/client.ts'
import { verifySignature, verifyWebhook, WebhookVerificationError } from '../../../../sdk/webhook.ts'
import { seconds } from '../../command.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { readFile, readHeader, readText } from '../../terminal/input.ts'
import { note, print, success } from '../../terminal/output.ts'
import { ask } from '../../terminal/prompts.ts'
import type { World } from '../../world.ts'
import { listen } from './listen.ts'

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

export const webhooks = serviceCommands('webhooks', SPECS, (command, world) => {
  listen(command.command('listen'), world)
  verify(command.command('verify'), world)
})

export const callbacks = serviceCommands('callbacks', {
  createCallback: {
    about: 'Get notified when one invocation ends. Prints only the secret to stdout, once',
    args: ['url'],
    done: ({ id, url }) => `Created ${id} for ${url}`,
    after: tellSecret,
  },
  listCallbacks: {
    about: 'List the callbacks of an invocation',
    columns: { of: ['id', 'name', 'url', ['STATUS', statusOf]] },
  },
  getCallback: {},
  deleteCallback: {
    about: 'Delete a callback and its queued deliveries',
    confirm: 'Delete {} and its queued deliveries?',
  },
})

type VerifyOptions = { body: string; header?: string[]; secretFile?: string; tolerance: number }

/** Checks a saved delivery as a receiver should. */
function verify(command: Command, world: World): void {
  command
    .description('Check the signature of a saved delivery. Needs no service')
    .requiredOption('--body <body>', 'the exact body; @file reads a file, - reads stdin')
    .option('-H, --header <header...>', 'the headers, as Name: value')
    .option('--secret-file <file>', 'file with the secret (default: WEBHOOK_SECRET, or a prompt)')
    .option('--json', 'print JSON')
    .addOption(
      new Option('--tolerance <duration>', 'maximum age of the delivery').argParser(seconds).default(300, '5m'),
    )
    .action(async (options: VerifyOptions) => {
      const secret = await readSecret(world, options)
      const headers = Object.fromEntries((options.header ?? []).map(readHeader))
      const body = await readText(world, options.body)
      const signature = new Headers(headers).get('x-service-signature')
      if (signature !== null && !new Headers(headers).has('webhook-signature')) {
        if (!(await verifySignature(body, signature, secret))) throw refused('X-Service-Signature does not match')
        return success(world, 'X-Service-Signature is valid. It does not cover the time of sending.')
      }
      try {
        const event = await verifyWebhook({ body, headers, secret, toleranceSeconds: options.tolerance })
        success(world, 'The signature is valid')
        print(world, JSON.stringify(event, null, 2))
      } catch (error) {
        if (error instanceof WebhookVerificationError) throw refused(error.message)
        throw error
      }
    })
}

async function readSecret(world: World, { secretFile }: VerifyOptions): Promise<string> {
  if (secretFile !== undefined) return readFile(resolve(world.cwd, secretFile)).trim()
  if (world.env.WEBHOOK_SECRET) return world.env.WEBHOOK_SECRET
  const missing = 'Specify the secret with --secret-file or WEBHOOK_SECRET.'
  const secret = await ask(world, { message: 'Webhook secret', secret: true, missing })
  if (secret === '') throw usage(missing)
  return secret
}

function refused(message: string): Failure {
  return new Failure(EXIT.failed, `Invalid signature: ${message}`)
}
