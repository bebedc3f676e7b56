import { z } from 'zod'
import { parseSize } from '../lib/size.ts'
import { PROJECT_NAME, PROJECT_NAME_RULE } from '../lib/text/project-name.ts'
import { isWellFormedKey } from '../security/key-format.ts'
import { OidcSettings } from '../security/oidc/oidc-settings.ts'
import { defaultRoles, Permission, type Roles } from '../security/permissions.ts'
import { PROVIDER_NAME, ProviderType, Vision } from '../security/provider-name.ts'
import { AddressRange, AuthSettings, SecretText, SecuritySettings, WebAddress } from '../security/security-settings.ts'
import { SECRET_NAME, ToolSecret } from '../security/tool-secret.ts'
import { FileSettings } from './file-shape.ts'
import { Budgets, ModelPrices } from './price-shape.ts'
import { RetentionSettings } from './retention-shape.ts'
import { ServerSettings } from './server-shape.ts'
import { duration, record, Size } from './values.ts'

const DEFAULT_TIERS = {
  free: { requestsPerMinute: 60, burst: 100 },
  pro: { requestsPerMinute: 1000, burst: 2000 },
  enterprise: { requestsPerMinute: 10_000, burst: 20_000 },
}

const Database = z.strictObject({
  url: SecretText.regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .describe('PostgreSQL to use; without it SQLite in `data`'),
  listenUrl: SecretText.regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .describe(
      'PostgreSQL itself, if `url` is a pooler in transaction mode such as PgBouncer: for one connection a process',
    ),
  // A transaction may need what has to be read on another connection.
  poolSize: z.int().min(2).max(1000).default(10).describe('PostgreSQL connections, at least 2'),
  readTimeout: duration('100ms', '10m')
    .prefault('10s')
    .describe('How long a single read may take; a longer one is ended with 504, so that no client waits longer'),
})

const Redis = z.strictObject({
  url: SecretText.regex(/^rediss?:\/\//, 'must start with redis:// or rediss://')
    .optional()
    .describe(
      'Redis that shares rate limits between nodes, and carries what runs say to followers on other nodes; without it each node counts alone, and PostgreSQL carries it',
    ),
})

/** `a=1,b=2`, with values that may be percent-encoded. */
const PAIRS = /^\s*[^=,\s]+=[^,]*(?:,\s*[^=,\s]+=[^,]*)*\s*$/

const SHARE = 'must be a number from 0 to 1'

const Otel = z.strictObject({
  endpoint: z
    .string()
    .regex(/^https?:\/\/[^\s/]+/, 'must start with http:// or https://')
    .optional()
    .describe('OpenTelemetry collector (OTLP over HTTP) for traces and metrics; without it nothing is sent'),
  headers: SecretText.regex(PAIRS, 'must be name=value pairs with commas between')
    .optional()
    .describe('Headers for the collector, as name=value pairs'),
  serviceName: z.string().min(1).default('moorage').describe('Name of this service in traces'),
  resourceAttributes: z
    .string()
    .regex(PAIRS, 'must be name=value pairs with commas between')
    .optional()
    .describe('What else traces say of this service, as name=value pairs'),
  sampler: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .describe('Which traces are sent'),
  samplerArg: z
    .union([z.number().min(0).max(1), z.string().regex(/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/, SHARE)], SHARE)
    .transform(Number)
    .prefault(1)
    .describe('Share of traces that a `traceidratio` sampler sends'),
  content: z.boolean().default(false).describe('Whether traces show messages and answers'),
  disabled: z.boolean().default(false).describe('Sends nothing although there is a collector'),
})

const Log = z.strictObject({
  level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least severe level written: fatal, error, warn, info, debug, trace, silent'),
  format: z
    .enum(['auto', 'json', 'pretty'])
    .default('auto')
    .describe('`json`, `pretty`, or `auto`: pretty on a terminal'),
  color: z.boolean().default(true).describe('Colours on a terminal; `NO_COLOR` turns them off'),
})

const Tier = z.strictObject({
  requestsPerMinute: z.int().min(1).describe('Steady rate'),
  burst: z.int().min(1).describe('Requests that may come at once'),
})

const Console = z.strictObject({
  enabled: z.boolean().default(true).describe('Serve the web console at `/`'),
  hosts: z
    .array(z.string().regex(/^[A-Za-z0-9.-]+$/, 'must be a host name, without scheme and port'))
    .default([])
    .describe('Host names under which the console is served, besides `localhost`, `server.host` and IP addresses'),
  allowInsecure: z
    .boolean()
    .default(false)
    .describe('Let people sign in over plain http under another name than that of this machine'),
  sessionLifetime: duration('1m', '30d').prefault('12h').describe('How long a sign-in lasts at most'),
  idleTimeout: duration('1m', '30d').prefault('1h').describe('How long a sign-in lasts that is not used'),
  oidc: z
    .array(OidcSettings)
    .superRefine((list, context) => reportSameNames('console.oidc', list, context), {
      when: ({ value }) => Array.isArray(value),
    })
    .default([])
    .describe('Identity providers with which people sign in'),
  linkVerifiedEmails: z
    .boolean()
    .default(false)
    .describe('Take a verified address of two identity providers for the same person'),
  deviceSignIn: z.boolean().default(true).describe('Let `moorage login --sso` get keys for people'),
})

const Limits = z.strictObject({
  defaultTier: z.string().default('pro').describe('Tier of a key that names none, and of tokens'),
  tiers: record(Tier)
    .default({})
    .transform((tiers): Record<string, z.output<typeof Tier>> => ({ ...DEFAULT_TIERS, ...tiers }))
    .describe('Rate-limit tiers by name; changes or adds to free, pro and enterprise'),
  body: Size.refine((bytes) => bytes >= 1024 && bytes <= parseSize('64MiB'), 'must be between 1KiB and 64MiB')
    .prefault('1MiB')
    .describe('Largest request body, 1KiB to 64MiB'),
  invokeTimeout: duration('1s', '600s').prefault('120s').describe('How long an invocation may take, 1s to 600s'),
  failedAuthPerMinute: z.int().min(1).default(30).describe('Failed authentications a minute from one address'),
  backlog: z
    .int()
    .min(1)
    .default(10_000)
    .describe('Most invocations that run, and entries that wait to be written, together; beyond that requests get 503'),
})

const Outgoing = z.strictObject({
  allowInsecure: z
    .boolean()
    .optional()
    .describe('Let tools, MCP servers, webhooks, and identity and model providers that clients set, use plain http'),
  allowedCidrs: z
    .array(AddressRange)
    .optional()
    .describe(
      'Private ranges that tools, MCP servers, webhooks, and identity and model providers that clients set, may be in',
    ),
})

const Proxy = z.strictObject({
  http: WebAddress.optional().describe('Proxy for requests to model providers and to the embedder by plain http'),
  https: WebAddress.optional().describe('Proxy for requests to model providers and to the embedder by https'),
  except: z
    .string()
    .optional()
    .describe('Hosts that are reached without the proxy, with commas; this machine always is'),
})

const Webhooks = z.strictObject({
  allowInsecure: z.boolean().optional().describe('For webhooks alone, instead of `outgoing.allowInsecure`'),
  allowedCidrs: z.array(AddressRange).optional().describe('For webhooks alone, instead of `outgoing.allowedCidrs`'),
  attemptTimeout: duration('100ms', '2m').prefault('15s').describe('How long one delivery attempt may take'),
  maxInFlight: z.int().min(1).default(50).describe('Deliveries under way at once'),
  maxPerEndpoint: z.int().min(1).default(5).describe('Deliveries under way at once to one webhook'),
  maxPerAgent: z
    .int()
    .min(1)
    .default(50)
    .describe('Webhooks that one agent may have, and as many that hear of all agents'),
})

const Schedules = z.strictObject({
  maxPerAgent: z.int().min(1).default(100).describe('Schedules that one agent may have'),
})

const Provider = z.strictObject({
  name: PROVIDER_NAME.describe('First part of a model name, as in `name/model`'),
  type: ProviderType.default('openai-compatible').describe('Protocol: openai-compatible, openai, anthropic'),
  baseUrl: WebAddress.optional().describe('Endpoint; required for openai-compatible'),
  apiKey: SecretText.optional().describe('Key sent to the endpoint'),
  vision: Vision.optional().describe(
    'Whether its models take images: true, false, or by the name of a model; without it they are tried',
  ),
})
const Providers = z
  .array(
    Provider.refine(({ type, baseUrl }) => type !== 'openai-compatible' || baseUrl !== undefined, {
      path: ['baseUrl'],
      error: 'is required for openai-compatible',
      when: ({ value }) => value instanceof Object,
    }),
  )
  .superRefine((list, context) => reportSameNames('providers', list, context), {
    when: ({ value }) => Array.isArray(value),
  })

const Embedder = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('openai-compatible').describe('`openai-compatible`, or `local` for the model in this process'),
    baseUrl: WebAddress.describe('openai-compatible: endpoint'),
    model: z.string().min(1).describe('openai-compatible: model name'),
    apiKey: SecretText.optional().describe('openai-compatible: key sent to the endpoint'),
    dimensions: z.int().min(1).max(4096).optional().describe('openai-compatible: vector length to ask for'),
  }),
  z.strictObject({ type: z.literal('local') }),
])

const Memory = z.strictObject({
  warm: Size.refine((bytes) => bytes <= parseSize('64GiB'), 'must be at most 64GiB')
    .prefault('128MiB')
    .describe('Main memory for the indexes of what was searched last; 0 keeps none'),
  embedder: Embedder.optional(),
})

export const ConfigSettings = z.strictObject({
  data: z
    .string()
    .min(1)
    .default('./data')
    .describe('Directory for the embedded database and the generated master key'),
  masterKey: SecretText.regex(
    /^([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)$/,
    'must be 32 bytes as 64 hex digits or base64, for example from `openssl rand -base64 32`',
  )
    .optional()
    .describe('Encrypts stored secrets: 32 bytes as hex or base64; without it `master.key` in `data`'),
  startPaused: z.boolean().default(false).describe('Starts paused: it runs and sends nothing until it is resumed'),
  initKey: SecretText.refine(isWellFormedKey, 'must be a well-formed API key (mrg_…)')
    .optional()
    .describe('The first admin key, of all projects, instead of a generated one'),
  initProject: z
    .string()
    .regex(PROJECT_NAME, PROJECT_NAME_RULE)
    .optional()
    .describe('Name of a project that the first start makes beside `default`'),
  initPerson: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+$/, 'must be an e-mail address')
    .optional()
    .describe('Address of the first administrator of the service, who signs in with an identity provider'),
  server: ServerSettings.prefault({}),
  database: Database.prefault({}),
  redis: Redis.prefault({}),
  log: Log.prefault({}),
  otel: Otel.prefault({}),
  console: Console.prefault({}),
  limits: Limits.prefault({}),
  outgoing: Outgoing.prefault({}),
  proxy: Proxy.prefault({}),
  webhooks: Webhooks.prefault({}),
  schedules: Schedules.prefault({}),
  budgets: Budgets.prefault({}),
  files: FileSettings.prefault({}),
  retention: RetentionSettings.prefault({}),
  providers: Providers.default([]).describe('Model providers'),
  prices: ModelPrices.default([]).describe('What models cost, over the list that comes with the program'),
  secrets: z
    .record(z.string().regex(SECRET_NAME), ToolSecret)
    .default({})
    .describe('Secrets that tools use as `{{secret.NAME}}`'),
  memory: Memory.prefault({}),
  security: SecuritySettings.prefault({}),
  auth: AuthSettings.optional(),
  roles: record(z.array(Permission).min(1))
    .default({})
    .transform((roles): Roles => ({ ...defaultRoles, ...roles }))
    .describe('Permissions by role; changes or adds to admin, developer, viewer, caller and approver'),
})
export type Config = z.output<typeof ConfigSettings>
export type ConfigInput = z.input<typeof ConfigSettings>

/** The entries may be anything: this check runs even if they have issues of their own. */
function reportSameNames(setting: string, list: readonly { name?: unknown }[], { addIssue }: z.RefinementCtx) {
  const names = list.map((one) => one?.name)
  names.forEach((name, index) => {
    const first = names.indexOf(name)
    if (name === undefined || first === index) return
    addIssue({ code: 'custom', path: [index, 'name'], message: `is already the name of ${setting}[${first}]` })
  })
}
