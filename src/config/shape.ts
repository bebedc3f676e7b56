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
import { McpSettings, ServerSettings } from './server-shape.ts'
import { duration, record, Size } from './values.ts'

const SECRET_NAMES = { form: SECRET_NAME, rule: 'use 1 to 64 letters, digits and _, not starting with a digit' }

const DEFAULT_TIERS = {
  free: { requestsPerMinute: 60, burst: 100 },
  pro: { requestsPerMinute: 1000, burst: 2000 },
  enterprise: { requestsPerMinute: 10_000, burst: 20_000 },
}

const Database = z.strictObject({
  url: SecretText.regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .describe('URL of PostgreSQL. If not set: SQLite in `data`'),
  listenUrl: SecretText.regex(/^postgres(ql)?:\/\//, 'must start with postgres:// or postgresql://')
    .optional()
    .describe(
      'URL of PostgreSQL itself, if `url` is a pooler in transaction mode such as PgBouncer. Used for one connection per process',
    ),
  // A transaction may need something that must be read over another connection.
  poolSize: z.int().min(2).max(1000).default(10).describe('PostgreSQL connections per process, at least 2'),
  readTimeout: duration('100ms', '10m')
    .prefault('10s')
    .describe('How long a single read can take. A longer one is stopped and returns 504'),
})

const Redis = z.strictObject({
  url: SecretText.regex(/^rediss?:\/\//, 'must start with redis:// or rediss://')
    .optional()
    .describe(
      "URL of Redis. Nodes use it to share rate limits, and to send a run's text to clients that follow the run on another node. If not set, each node applies rate limits separately, and PostgreSQL sends the text",
    ),
})

/** Matches `a=1,b=2`, with values that may be percent-encoded. */
const PAIRS = /^\s*[^=,\s]+=[^,]*(?:,\s*[^=,\s]+=[^,]*)*\s*$/

const SHARE = 'must be a number from 0 to 1'

const Otel = z.strictObject({
  endpoint: z
    .string()
    .regex(/^https?:\/\/[^\s/]+/, 'must start with http:// or https://')
    .optional()
    .describe(
      'URL of the OpenTelemetry collector (OTLP over HTTP) for traces and metrics. If not set, nothing is sent',
    ),
  headers: SecretText.regex(PAIRS, 'must be name=value pairs separated by commas')
    .optional()
    .describe('Headers for the collector, as name=value pairs'),
  serviceName: z.string().min(1).default('moorage').describe('Name of this service in traces'),
  resourceAttributes: z
    .string()
    .regex(PAIRS, 'must be name=value pairs separated by commas')
    .optional()
    .describe('Further attributes of this service in traces, as name=value pairs'),
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
    .describe('Which traces to send'),
  samplerArg: z
    .union([z.number().min(0).max(1), z.string().regex(/^(?:0(?:\.\d+)?|1(?:\.0+)?)$/, SHARE)], SHARE)
    .transform(Number)
    .prefault(1)
    .describe('Ratio of traces that a `traceidratio` sampler sends, 0 to 1'),
  content: z.boolean().default(false).describe('Include messages and answers in traces'),
  disabled: z.boolean().default(false).describe('Send nothing, even if `otel.endpoint` is set'),
})

const Log = z.strictObject({
  level: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least severe level that is logged: fatal, error, warn, info, debug, trace, silent'),
  format: z
    .enum(['auto', 'json', 'pretty'])
    .default('auto')
    .describe('`json`, `pretty`, or `auto`: pretty on a terminal'),
  color: z.boolean().default(true).describe('Colors on a terminal. `NO_COLOR` turns them off'),
})

const Tier = z.strictObject({
  requestsPerMinute: z.int().min(1).describe('Sustained rate'),
  burst: z.int().min(1).describe('Requests that can arrive at the same time'),
})

const Console = z.strictObject({
  enabled: z.boolean().default(true).describe('Serve the web console at `/`'),
  hosts: z
    .array(z.string().regex(/^[A-Za-z0-9.-]+$/, 'must be a host name without scheme or port'))
    .default([])
    .describe('Host names at which the console is served, in addition to `localhost`, `server.host` and IP addresses'),
  allowInsecure: z.boolean().default(false).describe('Let people on other machines sign in over plain HTTP'),
  sessionLifetime: duration('1m', '30d').prefault('12h').describe('Longest duration of a sign-in'),
  idleTimeout: duration('1m', '30d').prefault('1h').describe('How long a sign-in lasts without use'),
  oidc: z
    .array(OidcSettings)
    .superRefine((list, context) => reportSameNames('console.oidc', list, context), {
      when: ({ value }) => Array.isArray(value),
    })
    .default([])
    .describe('Identity providers that people can sign in with'),
  linkVerifiedEmails: z
    .boolean()
    .default(false)
    .describe('Treat the same verified email address at two identity providers as one person'),
  deviceSignIn: z.boolean().default(true).describe('Let people get keys with `moorage login --sso`'),
})

const Limits = z.strictObject({
  defaultTier: z.string().default('pro').describe('Tier of tokens, and of keys that were created without a tier'),
  tiers: record(Tier)
    .default({})
    .transform((tiers): Record<string, z.output<typeof Tier>> => ({ ...DEFAULT_TIERS, ...tiers }))
    .describe('Rate limit tiers by name. Changes free, pro and enterprise, or adds to them'),
  body: Size.refine((bytes) => bytes >= 1024 && bytes <= parseSize('64MiB'), 'must be between 1KiB and 64MiB')
    .prefault('1MiB')
    .describe('Maximum size of a request body, 1KiB to 64MiB'),
  invokeTimeout: duration('1s', '600s').prefault('120s').describe('How long an invocation can take, 1s to 600s'),
  failedAuthPerMinute: z.int().min(1).default(30).describe('Failed authentications per minute from one IP address'),
  backlog: z
    .int()
    .min(1)
    .default(10_000)
    .describe(
      'Maximum number of active invocations and of entries waiting to be written, together. Further requests get 503',
    ),
})

const Outgoing = z.strictObject({
  allowInsecure: z
    .boolean()
    .optional()
    .describe(
      'Allow plain `http` for tools, MCP servers, webhooks, and for identity and model providers set through the API',
    ),
  allowedCidrs: z
    .array(AddressRange)
    .optional()
    .describe(
      'Private IP ranges allowed for tools, MCP servers, webhooks, and for identity and model providers set through the API',
    ),
})

const Proxy = z.strictObject({
  http: WebAddress.optional().describe('Proxy for plain `http` requests to model providers and the embedder'),
  https: WebAddress.optional().describe('Proxy for `https` requests to model providers and the embedder'),
  except: z
    .string()
    .optional()
    .describe('Hosts that are reached without the proxy, separated by commas. This machine is always reached directly'),
})

const Webhooks = z.strictObject({
  allowInsecure: z.boolean().optional().describe('For webhooks only, instead of `outgoing.allowInsecure`'),
  allowedCidrs: z.array(AddressRange).optional().describe('For webhooks only, instead of `outgoing.allowedCidrs`'),
  attemptTimeout: duration('100ms', '2m').prefault('15s').describe('How long a delivery attempt can take'),
  maxInFlight: z.int().min(1).default(50).describe('Maximum number of deliveries in progress in each process'),
  maxPerEndpoint: z.int().min(1).default(5).describe('Deliveries in progress to one webhook, in all processes'),
  maxPerAgent: z
    .int()
    .min(1)
    .default(50)
    .describe("Maximum number of webhooks per agent. The same limit applies to a project's webhooks for all agents"),
})

const perAgent = (things: string) =>
  z.strictObject({ maxPerAgent: z.int().min(1).default(100).describe(`Maximum number of ${things} per agent`) })

const Provider = z.strictObject({
  name: PROVIDER_NAME.describe('First part of a model name, as in `name/model`'),
  type: ProviderType.default('openai-compatible').describe('Protocol: openai-compatible, openai, anthropic'),
  baseUrl: WebAddress.optional().describe('URL of the endpoint. Required for openai-compatible'),
  apiKey: SecretText.optional().describe('API key sent to the endpoint'),
  vision: Vision.optional().describe(
    'Whether its models accept images: true, false, or by model name. If not set, it is detected',
  ),
  cache: z
    .boolean()
    .optional()
    .describe('anthropic: mark the start of prompts for the provider to cache. If not set, true'),
})
const Providers = z
  .array(
    Provider.refine(({ type, baseUrl }) => type !== 'openai-compatible' || baseUrl !== undefined, {
      path: ['baseUrl'],
      error: 'is required for openai-compatible providers',
      when: ({ value }) => value instanceof Object,
    }),
  )
  .superRefine((list, context) => reportSameNames('providers', list, context), {
    when: ({ value }) => Array.isArray(value),
  })

const Embedder = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('openai-compatible').describe('`openai-compatible`, or `local` for the local model'),
    baseUrl: WebAddress.describe('openai-compatible: endpoint'),
    model: z.string().min(1).describe('openai-compatible: model name'),
    apiKey: SecretText.optional().describe('openai-compatible: key sent to the endpoint'),
    dimensions: z.int().min(1).max(4096).optional().describe('openai-compatible: vector length to request'),
  }),
  z.strictObject({ type: z.literal('local') }),
])

const Memory = z.strictObject({
  warm: Size.refine((bytes) => bytes <= parseSize('64GiB'), 'must be at most 64GiB')
    .prefault('128MiB')
    .describe('RAM for search indexes. 0: no indexes are kept in RAM'),
  embedder: Embedder.optional(),
})

export const ConfigSettings = z.strictObject({
  data: z
    .string()
    .min(1)
    .default('./data')
    .describe('Directory of the SQLite database, uploaded files and the generated master key'),
  masterKey: SecretText.regex(
    /^([0-9a-fA-F]{64}|[A-Za-z0-9+/_-]{43}=?)$/,
    'must be 32 bytes as 64 hex digits or base64, for example from `openssl rand -base64 32`',
  )
    .optional()
    .describe('Key that encrypts stored secrets: 32 bytes as hex or base64. If not set: `master.key` in `data`'),
  startPaused: z.boolean().default(false).describe('Start paused: no runs start and nothing is sent until you resume'),
  initKey: SecretText.refine(isWellFormedKey, 'must be a well-formed API key (mrg_…)')
    .optional()
    .describe('The first admin key, with access to all projects. If not set, one is generated'),
  initProject: z
    .string()
    .regex(PROJECT_NAME, PROJECT_NAME_RULE)
    .optional()
    .describe('Name of a project that the first start creates in addition to `default`'),
  initPerson: z
    .string()
    .regex(/^[^\s@]+@[^\s@]+$/, 'must be an email address')
    .optional()
    .describe('Email address of the first service administrator, who signs in with an identity provider'),
  server: ServerSettings.prefault({}),
  database: Database.prefault({}),
  redis: Redis.prefault({}),
  log: Log.prefault({}),
  otel: Otel.prefault({}),
  console: Console.prefault({}),
  mcp: McpSettings.prefault({}),
  limits: Limits.prefault({}),
  outgoing: Outgoing.prefault({}),
  proxy: Proxy.prefault({}),
  webhooks: Webhooks.prefault({}),
  schedules: perAgent('schedules').prefault({}),
  triggers: perAgent('triggers').prefault({}),
  budgets: Budgets.prefault({}),
  files: FileSettings.prefault({}),
  retention: RetentionSettings.prefault({}),
  providers: Providers.default([]).describe('Model providers'),
  prices: ModelPrices.default([]).describe('Prices of models. They override the list that comes with Moorage'),
  secrets: record(ToolSecret, SECRET_NAMES).default({}).describe('Secrets that tools use as `{{secret.NAME}}`'),
  memory: Memory.prefault({}),
  security: SecuritySettings.prefault({}),
  auth: AuthSettings.optional(),
  roles: record(z.array(Permission).min(1))
    .default({})
    .transform((roles): Roles => ({ ...defaultRoles, ...roles }))
    .describe('Permissions by role. Changes admin, developer, viewer, caller and approver, or adds to them'),
})
export type Config = z.output<typeof ConfigSettings>
export type ConfigInput = z.input<typeof ConfigSettings>

/** The entries may be anything, because this check runs even if they have issues themselves. */
function reportSameNames(setting: string, list: readonly { name?: unknown }[], { addIssue }: z.RefinementCtx) {
  const names = list.map((one) => one?.name)
  names.forEach((name, index) => {
    const first = names.indexOf(name)
    if (name === undefined || first === index) return
    addIssue({ code: 'custom', path: [index, 'name'], message: `is already the name of ${setting}[${first}]` })
  })
}
