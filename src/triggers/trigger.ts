import { z } from 'zod'
import { OnBudget, Priority } from '../invocations/invocation.ts'
import { DEFAULT_ENVIRONMENT, Environment } from '../runtime/tools/called-agent.ts'
import { SECRET_NAME } from '../security/tool-secret.ts'
import { bareShape, Label, Text, Time } from '../shapes.ts'
import { ADDRESS } from './mail/mail.ts'
import { MAIL_PROVIDERS, type MailProviderName } from './mail/mail-providers.ts'
import { messageProblem, pathProblem, sourceProblem } from './receive/payload.ts'

export const TriggerKind = z
  .enum(['webhook', 'slack', 'telegram', 'email'])
  .describe(
    '`webhook`: events from any sender. `slack`, `telegram`: messages to a bot, which are answered in the conversation. `email`: messages to an email address, which are answered by email',
  )
export type TriggerKind = z.output<typeof TriggerKind>

/** Its owner disabled it, or the key that last changed it has ended. */
const DisabledTrigger = z.enum(['requested', 'key_revoked', 'key_expired'])

const SecretName = z
  .string()
  .regex(SECRET_NAME, 'must be the name of a secret')
  .meta({ examples: ['GITHUB_SECRET'] })
  .describe("The name of the project's secret with which the sender signs")

const HeaderName = z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header')

const Tolerance = z
  .int()
  .min(1)
  .max(3_600)
  .default(300)
  .describe('How far the signed timestamp can be from now, in seconds')

export const Verify = z
  .discriminatedUnion('scheme', [
    z.strictObject({ scheme: z.enum(['github', 'telegram', 'bearer', 'basic']), secret: SecretName }),
    z.strictObject({
      scheme: z.enum(['stripe', 'slack', 'standard']),
      secret: SecretName,
      tolerance_seconds: Tolerance,
    }),
    z.strictObject({
      scheme: z.literal('hmac'),
      secret: SecretName,
      header: HeaderName.default('X-Signature').describe('Contains the signature'),
      algorithm: z.enum(['sha256', 'sha512', 'sha1']).default('sha256'),
      encoding: z.enum(['hex', 'base64']).default('hex'),
      prefix: Label(50, 0).default('').describe('What the header has before the signature, such as `sha256=`'),
      timestamp_header: HeaderName.nullable()
        .default(null)
        .describe('Contains the signed timestamp; the signature then covers it, a period and the body'),
      tolerance_seconds: Tolerance,
    }),
    z.strictObject({
      scheme: z.literal('ed25519'),
      secret: SecretName.describe(
        "The name of the project's secret that contains the sender's public key: 32 bytes in hexadecimal or base64",
      ),
      header: HeaderName.default('X-Signature-Ed25519'),
      encoding: z.enum(['hex', 'base64']).default('hex'),
      timestamp_header: HeaderName.nullable()
        .default('X-Signature-Timestamp')
        .describe('Contains the signed timestamp; the signature then covers it and the body'),
      tolerance_seconds: Tolerance,
    }),
    z.strictObject({ scheme: z.literal('none') }),
  ])
  .describe('How the sender proves that a request is from it. With `none`, everybody who knows the URL can start runs')
export type Verification = z.output<typeof Verify>

const checked = (shape: z.ZodString, problemOf: (text: string) => string | undefined) =>
  shape.superRefine((text, context) => {
    const message = problemOf(text)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

const Source = checked(Label(500), sourceProblem)
const Scalar = z.union([z.string().max(1_000), z.number(), z.boolean(), z.null()])

const FilterCondition = z
  .strictObject({
    path: checked(Label(500), pathProblem).describe('A JSON pointer such as `/action`, or `{{header.X-GitHub-Event}}`'),
    equals: Scalar.optional(),
    in: z.array(Scalar).min(1).max(100).optional(),
    exists: z.boolean().optional(),
  })
  .refine(
    ({ equals, in: some, exists }) => [equals, some, exists].filter((one) => one !== undefined).length === 1,
    'must have exactly one of `equals`, `in` and `exists`',
  )

/** The URL of a platform's API. The token is added to it, so it has no query. */
const ApiUrl = z
  .string()
  .max(500)
  .regex(/^https?:\/\/[^\s?#]+[^\s?#/]$/, 'must be a URL without a query or a trailing slash')

const botOf = (platform: string, api_url: string, example: string) =>
  z
    .strictObject({
      bot_token: SecretName.meta({ examples: [example] }).describe(
        "The name of the project's secret with the bot's token",
      ),
      api_url: ApiUrl.default(api_url).describe(`The URL of ${platform}'s API. The secret's hosts must include it`),
    })
    .nullable()
    .default(null)

/** An address from which answers are sent by email. */
const EmailSettings = z
  .strictObject({
    address: z
      .string()
      .regex(ADDRESS, 'must be an email address')
      .meta({ examples: ['help@example.com'] })
      .describe('The address that people write to, from which answers are sent'),
    name: Label(100).nullable().default(null).describe("The sender's name in answers"),
    provider: z
      .enum(Object.keys(MAIL_PROVIDERS) as [MailProviderName, ...MailProviderName[]])
      .describe('The provider that sends answers'),
    api_key: SecretName.meta({ examples: ['POSTMARK_TOKEN'] }).describe(
      "The name of the project's secret with the provider's API key",
    ),
    api_url: ApiUrl.nullable()
      .default(null)
      .describe("The URL of the provider's API. The secret's hosts must include it. Default: the usual one"),
    authserv_id: z
      .string()
      .regex(/^[A-Za-z0-9.-]{1,200}$/, 'must be the name of a mail server')
      .nullable()
      .default(null)
      .describe(
        'The mail server whose `Authentication-Results` prove who has written, such as `mx.example.com`. It must remove such headers of its name from incoming mail. Messages without its proof are ignored. Default: none; then each thread has a user of its own',
      ),
  })
  .nullable()
  .default(null)

const READ = {
  verify: Verify,
  filter: z
    .array(FilterCondition)
    .max(20)
    .default([])
    .describe('Conditions that an event must meet. Other events get 200 and start no run'),
  message: checked(Text(20_000), messageProblem).describe(
    'The message to the agent. `{{/issue/title}}` inserts a value from the body (a JSON pointer), `{{header.X-GitHub-Event}}` a header, and `{{body}}` the whole body. In conversations and email, `{{text}}` inserts what the person wrote. Default: `{{body}}`, or `{{text}}` in conversations and email',
  ),
  user_from: Source.nullable()
    .default(null)
    .describe('Where the `user_id` is: a JSON pointer such as `/sender/login`, or a text with placeholders'),
  session_from: Source.nullable().default(null).describe('Where the `session_id` is'),
  dedupe_from: Source.nullable()
    .default(null)
    .describe(
      "What identifies an event, so that it starts only one run even if it arrives several times. Default: depends on the scheme, for example the event's ID",
    ),
  user_prefix: Label(100, 0)
    .nullable()
    .default(null)
    .describe(
      'Text in front of every `user_id`. Default: the scheme or the kind, followed by a colon, such as `github:`',
    ),
  on_budget: OnBudget,
  priority: Priority.default('normal'),
  slack: botOf('Slack', 'https://slack.com/api', 'SLACK_BOT_TOKEN').describe('With the kind `slack`: its bot'),
  telegram: botOf('Telegram', 'https://api.telegram.org', 'TELEGRAM_BOT_TOKEN').describe(
    'With the kind `telegram`: its bot',
  ),
  email: EmailSettings.describe('With the kind `email`: the address, and the provider that sends answers'),
  reply: z
    .boolean()
    .nullable()
    .default(null)
    .describe('Whether answers are sent to the conversation. Default: `true`; null for the kind `webhook`'),
}

const ASKED = {
  kind: TriggerKind.default('webhook'),
  name: Label(200).nullable().default(null),
  environment: Environment.default(DEFAULT_ENVIRONMENT),
  enabled: z.boolean().default(true),
  ...READ,
}

export const TriggerParams = z.strictObject({ agent_id: z.string(), trigger_id: z.string() })
export const IncomingParams = z.strictObject({
  agent_id: z.string(),
  trigger_id: z.string(),
  delivery_id: z.string(),
})

export const CreateTriggerBody = z
  .strictObject({ ...ASKED, message: ASKED.message.optional() })
  .meta({ id: 'CreateTrigger' })

const { kind: _kind, ...changeable } = bareShape(ASKED)

export const UpdateTriggerBody = z
  .strictObject(changeable)
  .partial()
  .refine((body) => Object.keys(body).length > 0, 'must contain at least one field to change')
  .meta({ id: 'UpdateTrigger' })

/** How requests are verified, and what they become: one column of the row. */
export const TriggerDefinition = z.object(READ)
export type TriggerDefinition = z.output<typeof TriggerDefinition>

export const TriggerReply = z
  .object({
    id: z.string(),
    agent_id: z.string(),
    ...bareShape(ASKED),
    disabled_reason: DisabledTrigger.nullable(),
    address: z
      .string()
      .describe('Where senders post to. It is a URL if `server.publicUrl` is set, and otherwise a path'),
    user_prefix: z.string(),
    last_delivery_at: Time.nullable(),
    created_by: z.string(),
    updated_by: z.string().describe("The key that last changed it. Runs have this key's permissions"),
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: 'Trigger' })

/** A trigger as it is stored. */
export type Trigger = TriggerDefinition & {
  id: string
  agent_id: string
  kind: TriggerKind
  name: string | null
  environment: string
  enabled: boolean
  disabled_reason: z.output<typeof DisabledTrigger> | null
  /** Encrypted. */
  token: string
  token_hash: string
  created_by: string
  updated_by: string
  /** The keys that made or changed it, latest last. None of them can approve what its runs ask for. */
  authors: readonly string[]
  created_at: number
  updated_at: number
}

/** It must not be possible to put the token of one trigger into the row of another. */
export function purposeOf({ id }: Pick<Trigger, 'id'>): string {
  return `trigger:${id}`
}

export function prefixOf({ kind, user_prefix, verify }: Pick<Trigger, 'kind' | 'user_prefix' | 'verify'>): string {
  return user_prefix ?? `${kind === 'webhook' ? verify.scheme : kind}:`
}

type Shown = { token: string; publicUrl: string | undefined; last_delivery_at: number | null }

export function presentTrigger(
  trigger: Trigger,
  { token, publicUrl = '', last_delivery_at }: Shown,
): z.input<typeof TriggerReply> {
  const address = `${publicUrl}/v1/in/${token}`
  return { ...trigger, user_prefix: prefixOf(trigger), address, last_delivery_at }
}
