import type { Trigger } from '../../../sdk/client.ts'

type Scheme = Trigger['verify']['scheme']

/** How a sender is set up, and what a new trigger for its events has. */
type SchemeHelp = {
  label: string
  /** What the secret contains. Without it, there is no secret. */
  secret?: string
  /** What to do at the sender. */
  setUp: string
  begin: { message: string; user_from?: string; session_from?: string; filter?: object[] }
}

const PLAIN = { message: '{{body}}' }

export const SCHEMES: Readonly<Record<Scheme, SchemeHelp>> = {
  github: {
    label: 'GitHub',
    secret: "The webhook's secret",
    setUp:
      'In the repository, open Settings → Webhooks → Add webhook. Enter the URL, the content type application/json and the secret, and select the events.',
    begin: {
      message: 'Triage this issue of {{/repository/full_name}}.\n\n{{/issue/title}}\n\n{{/issue/body}}',
      user_from: '/sender/login',
      session_from: '{{/repository/full_name}}#{{/issue/number}}',
      filter: [
        { path: '{{header.X-GitHub-Event}}', equals: 'issues' },
        { path: '/action', in: ['opened', 'reopened'] },
      ],
    },
  },
  stripe: {
    label: 'Stripe',
    secret: "The endpoint's signing secret, whsec_…",
    setUp: 'In Stripe, open Developers → Webhooks → Add endpoint. Enter the URL and select the events.',
    begin: { message: 'A Stripe event: {{/type}}\n\n{{/data/object}}' },
  },
  slack: {
    label: 'Slack',
    secret: "The app's signing secret",
    setUp: 'In the settings of your Slack app, open Event Subscriptions, and enter the URL as the request URL.',
    begin: {
      message: '{{/event/text}}',
      user_from: '{{/team_id}}/{{/event/user}}',
      session_from: '{{/team_id}}/{{/event/channel}}',
      filter: [
        { path: '/event/type', equals: 'app_mention' },
        { path: '/event/bot_id', exists: false },
      ],
    },
  },
  telegram: {
    label: 'Telegram',
    secret: 'The secret_token that you give to setWebhook',
    setUp: "Call the bot's setWebhook method with the URL and the secret as secret_token.",
    begin: { message: '{{/message/text}}', user_from: '/message/from/id', session_from: '/message/chat/id' },
  },
  standard: {
    label: 'Standard Webhooks',
    secret: "The sender's secret, whsec_…",
    setUp: "Enter the URL in the sender's settings.",
    begin: PLAIN,
  },
  hmac: { label: 'HMAC', secret: 'The key', setUp: 'Sign the body with HMAC-SHA256.', begin: PLAIN },
  ed25519: {
    label: 'Ed25519',
    secret: "The sender's public key: 32 bytes in hexadecimal or base64",
    setUp: "Enter the URL in the sender's settings.",
    begin: PLAIN,
  },
  bearer: {
    label: 'Bearer token',
    secret: 'The token',
    setUp: 'Send each event as a POST request with the header Authorization: Bearer and the token.',
    begin: PLAIN,
  },
  basic: {
    label: 'User name and password',
    secret: 'The user name, a colon and the password',
    setUp: 'Send each event as a POST request with HTTP Basic authentication, such as https://user:password@….',
    begin: PLAIN,
  },
  none: {
    label: 'No verification',
    setUp: 'Everybody who knows the URL can start runs. Keep it secret.',
    begin: PLAIN,
  },
}

export const SCHEME_NAMES = Object.keys(SCHEMES) as Scheme[]

type Kind = Trigger['kind']

/** What the sender of an email trigger has. */
export const EMAIL = {
  label: 'Email: answer messages to an address',
  setUp:
    'Configure your provider or mail server to post each message to the URL, as message/rfc822 or with the raw message included.',
}

/** How messages can be verified. */
export const MAIL_SCHEMES = ['basic', 'bearer', 'hmac', 'ed25519', 'standard', 'none'] as const satisfies Scheme[]

/** The providers that send answers. */
export const MAIL_PROVIDERS = [
  { value: 'postmark', label: 'Postmark', host: 'api.postmarkapp.com' },
  { value: 'resend', label: 'Resend', host: 'api.resend.com' },
  { value: 'sendgrid', label: 'SendGrid', host: 'api.sendgrid.com' },
] as const

/** Platforms on which an agent answers in conversations. */
export const PLATFORMS: Readonly<
  Record<Exclude<Kind, 'webhook' | 'email'>, { label: string; token: string; host: string; setUp: string }>
> = {
  slack: {
    label: 'Slack: answer in threads',
    token: "The bot's token, xoxb-…",
    host: 'slack.com',
    setUp:
      'In the settings of your Slack app, open Event Subscriptions, enter the URL as the request URL, and subscribe to the bot events app_mention and message.im. For buttons, enter the URL under Interactivity & Shortcuts too.',
  },
  telegram: {
    label: 'Telegram: answer in chats',
    token: "The bot's token from @BotFather",
    host: 'api.telegram.org',
    setUp:
      "Call the bot's setWebhook method with the URL, the secret as secret_token, and the allowed_updates message and callback_query.",
  },
}

/** What the form shows as the sender: a platform with conversations, or how requests are signed. */
export function senderLabel({ kind, verify }: Pick<Trigger, 'kind' | 'verify'>): string {
  if (kind === 'email') return EMAIL.label
  return kind === 'webhook' ? SCHEMES[verify.scheme].label : PLATFORMS[kind].label
}

export function setUpOf({ kind, verify }: Pick<Trigger, 'kind' | 'verify'>): string {
  if (kind === 'email') return EMAIL.setUp
  return kind === 'webhook' ? SCHEMES[verify.scheme].setUp : PLATFORMS[kind].setUp
}

/** The whole URL, also if the service doesn't know its own. */
export function urlOf({ address }: Pick<Trigger, 'address'>): string {
  return new URL(address, globalThis.location.href).href
}
