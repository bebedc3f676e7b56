import type { Command } from 'commander'
import type { Trigger } from '../../../../sdk/client.ts'
import { usage } from '../../failure.ts'
import type { CommandInput, CommandSpec } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { readMessage } from '../../terminal/input.ts'
import { note, print } from '../../terminal/output.ts'

/** Options that stand for the most common `verify`. */
const verifiable = (command: Command) =>
  command
    .option(
      '--scheme <name>',
      'how requests are signed: github, stripe, slack, telegram, standard, bearer, basic, none …',
    )
    .option('--secret <name>', "the name of the project's secret that signs them")

const withBot = (command: Command) =>
  verifiable(command)
    .option('--bot-token <name>', "the name of the project's secret with the token of the Slack or Telegram bot")
    .option('--api-url <url>', "the URL of the platform's or provider's API, if it isn't the usual one")
    .option('--address <address>', 'with --kind email: the address that people write to')
    .option('--provider <name>', 'with --kind email: the provider that sends answers: postmark, resend, sendgrid')
    .option('--provider-key <name>', "with --kind email: the name of the project's secret with the provider's API key")
    .option('--authserv-id <host>', 'with --kind email: the mail server whose Authentication-Results prove who wrote')

const FIELDS = {
  name: { flags: '--name <text>' },
  verify: 'how requests are verified, as JSON; --scheme and --secret are shorter',
  enabled: false,
} as const

const enabling = (enabled: boolean): CommandSpec<'updateTrigger'> => ({
  only: true,
  read: ({ body }) => void (body['enabled'] = enabled),
  done: enabled ? 'Enabled {}' : 'Disabled {}',
})

export const triggers = serviceCommands('triggers', {
  createTrigger: {
    about: "Create a URL to which another service's events are sent",
    args: ['[message...]'],
    options: { ...FIELDS, reply: false, slack: false, telegram: false, email: false },
    more: withBot,
    async read(asked, world) {
      const { body } = asked
      const { kind } = asked.options as { kind?: string }
      const isConversation = kind !== undefined && kind !== 'webhook'
      const { message } = body
      if (message === '-' || (message === undefined && !isConversation)) body['message'] = await readMessage(world, [])
      // A platform signs its events in its own way. Providers of mail don't.
      if (isConversation && kind !== 'email') asked.options['scheme'] ??= kind
      readVerify(asked)
      readBot(asked, kind)
      readEmail(asked, kind)
      if (asked.body['verify'] === undefined) {
        throw usage('Specify how requests are signed, such as --scheme github --secret GITHUB_SECRET.')
      }
    },
    show(world, trigger) {
      print(world, trigger.id)
      note(world, `  Send events to ${trigger.address}`)
    },
  },
  listTriggers: {
    about: "List an agent's triggers with their URLs",
    columns: {
      of: [
        'id',
        'name',
        'kind',
        ['SCHEME', ({ verify }) => verify.scheme],
        ['STATUS', statusOf],
        ['LAST', ({ last_delivery_at }) => last_delivery_at],
        'address',
      ],
    },
  },
  getTrigger: { alias: 'show', about: 'Show a trigger' },
  updateTrigger: [
    {
      about: 'Change what a trigger does with events',
      options: { ...FIELDS, message: { flags: '-m, --message <text>' } },
      more: verifiable,
      read(asked) {
        readVerify(asked)
        if (Object.keys(asked.body).length === 0) throw usage('Specify what to change, such as --message "{{/text}}"')
      },
      done: 'Updated {}',
    },
    { ...enabling(false), name: 'disable', about: 'Disable a trigger' },
    { ...enabling(true), name: 'enable', about: 'Enable a trigger' },
  ],
  deleteTrigger: { about: 'Delete a trigger. Runs that it started continue' },
  testTrigger: {
    about: 'Show what an event would become, and start a run with --run',
    done: ({ outcome, reason, message, request_id }) =>
      [outcome + (reason === null ? '' : `: ${reason}`), message, request_id].filter(Boolean).join('\n'),
  },
  listTriggerDeliveries: {
    about: 'List what a trigger received',
    limit: 20,
    columns: {
      of: [
        'id',
        'outcome',
        'reason',
        'user_id',
        'request_id',
        'repeats',
        ['ANSWER', ({ answer }) => answer?.status],
        'created_at',
      ],
    },
  },
  getTriggerDelivery: { about: 'Show what a trigger received, with the payload' },
  replayTriggerDelivery: {
    about: 'Start another run with the same payload, and print its request ID',
    show: (world, { request_id }) => print(world, request_id),
  },
})

function readVerify({ body, options }: CommandInput): void {
  const { scheme, secret } = options as { scheme?: string; secret?: string }
  if (scheme !== undefined) body['verify'] = { scheme, ...(secret !== undefined && { secret }) }
  else if (secret !== undefined) throw usage('Specify --scheme with --secret.')
}

function readBot({ body, options }: CommandInput, kind: string | undefined): void {
  const { botToken, apiUrl } = options as { botToken?: string; apiUrl?: string }
  if (botToken === undefined) return
  if (kind !== 'slack' && kind !== 'telegram') throw usage('Specify --kind slack or --kind telegram with --bot-token.')
  body[kind] = { bot_token: botToken, ...(apiUrl !== undefined && { api_url: apiUrl }) }
}

type EmailOptions = { address?: string; provider?: string; providerKey?: string; authservId?: string; apiUrl?: string }

function readEmail({ body, options }: CommandInput, kind: string | undefined): void {
  const { address, provider, providerKey: api_key, authservId: authserv_id, apiUrl: api_url } = options as EmailOptions
  if (kind !== 'email') {
    if (address ?? provider ?? api_key ?? authserv_id) throw usage('Specify --kind email with --address.')
    return
  }
  if (!address || !provider || !api_key) throw usage('Specify --address, --provider and --provider-key.')
  body['email'] = { address, provider, api_key, ...(authserv_id && { authserv_id }), ...(api_url && { api_url }) }
}

/** `disabled (key_revoked)` */
function statusOf({ enabled, disabled_reason }: Pick<Trigger, 'enabled' | 'disabled_reason'>): string {
  if (enabled) return 'enabled'
  return disabled_reason === 'requested' ? 'disabled' : `disabled (${disabled_reason})`
}

export const links = serviceCommands('links', {
  createLink: {
    about: 'Create a URL at which visitors can chat with an agent without a key',
    show(world, link) {
      print(world, link.url ?? link.id)
      note(world, `  ID: ${link.id}`)
      for (const warning of link.warnings ?? []) note(world, `  ${warning}`)
    },
  },
  listLinks: {
    about: "List an agent's links and how much they were used",
    columns: {
      of: [
        'id',
        'name',
        'status',
        'url',
        ['VISITORS', ({ used }) => used.visitors],
        ['MESSAGES', ({ used }) => used.messages],
        'expires_at',
      ],
    },
  },
  getLink: { alias: 'show', about: 'Show a link' },
  deleteLink: {
    about: 'Delete a link. Chats that are in progress end',
    confirm: 'Delete the link {}?',
    done: 'Deleted {}',
  },
})
