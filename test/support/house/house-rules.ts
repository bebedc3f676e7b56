import type { SourceFile } from './imports.ts'

type Arrows = Pick<SourceFile, 'file' | 'imports'>

const GROUND = ['security', 'runtime', 'storage', 'telemetry', 'lib']

/** The rooms, and what each may import, which is always below it. */
const MAY_REACH: Record<string, string[]> = {
  main: ['app', 'config', 'first-start'],
  cli: [
    'main',
    'build-parts',
    'http',
    'operations',
    'slice',
    'operation',
    'errors',
    'config',
    'security',
    'runtime',
    'storage',
    'lib',
  ],
  app: [
    'build-parts',
    'access',
    'background',
    'first-start',
    'http',
    'operations',
    'slice',
    'operation',
    'config',
    ...GROUND,
  ],
  'build-parts': ['project-snapshots', 'slice', 'operation', 'config', ...GROUND],
  'project-snapshots': ['slice', 'operation', 'config', 'security', 'storage', 'lib'],
  access: ['http', 'slice', 'operation', 'security', 'lib'],
  background: ['slice', 'operation', 'storage'],
  'first-start': ['slice', 'operation', 'security', 'storage'],
  http: ['operation', 'errors', 'config', ...GROUND],
  operations: ['slice', 'operation'],
  slice: ['operation', 'errors', 'events', 'shapes', 'config', ...GROUND],
  operation: ['errors', 'events', 'config', ...GROUND],
  config: ['security', 'lib'],
  events: ['storage'],
  errors: [],
  shapes: ['lib'],
  security: ['lib'],
  runtime: ['telemetry', 'lib'],
  storage: ['lib'],
  telemetry: ['lib'],
  lib: [],
}

/** From the top: a slice may use only slices that are listed below it, and of those only what is named here. */
const SLICES: { level: number; name: string; face: string[] }[] = [
  { level: 8, name: 'transfer', face: [] },
  { level: 7, name: 'users', face: [] },
  { level: 6, name: 'service', face: [] },
  { level: 5, name: 'triggers', face: [] },
  { level: 7, name: 'judge', face: [] },
  { level: 6, name: 'replays', face: ['replay-record.ts', 'start-replay.ts', 'store.ts'] },
  { level: 5, name: 'sets', face: ['set.ts', 'store.ts'] },
  { level: 5, name: 'links', face: ['store.ts'] },
  { level: 5, name: 'schedules', face: ['schedule.ts', 'store.ts', 'times.ts'] },
  {
    level: 4,
    name: 'invocations',
    face: [
      'approvals/pending.ts',
      'children/child-store.ts',
      'rows/compared-answers.ts',
      'rows/invocation-rows.ts',
      'invocation.ts',
      'receipt.ts',
      'runs.ts',
      'queue/right-to-run.ts',
      'queue/scheduled-run.ts',
      'find-invocations.ts',
      'store.ts',
      'approvals/approval.ts',
      'approvals/approval-store.ts',
      'approvals/settle-decision.ts',
      'approvals/who-decides.ts',
      'feedback/feedback.ts',
      'feedback/feedback-store.ts',
      'cases/answer-check.ts',
      'cases/case-store.ts',
      'cases/check-schemas.ts',
      'cases/choose-runs.ts',
      'cases/run-case.ts',
      'attachments/attachment-shape.ts',
      'attachments/keep-attachments.ts',
      'attachments/receive-attachments.ts',
    ],
  },
  { level: 4, name: 'console', face: [] },
  { level: 3, name: 'applications', face: [] },
  { level: 3, name: 'audit', face: [] },
  { level: 3, name: 'people', face: ['person.ts', 'recognise-person.ts', 'roles.ts', 'store.ts'] },
  {
    level: 3,
    name: 'deployments',
    face: [
      'deployment.ts',
      'rollouts/compared-sums.ts',
      'rollouts/end-rollout.ts',
      'rollouts/rollout.ts',
      'rollouts/rollout-store.ts',
      'rollouts/split.ts',
      'serving.ts',
      'store.ts',
    ],
  },
  {
    level: 3,
    name: 'budgets',
    face: [
      'budget.ts',
      'budget-in-reach.ts',
      'budget-period.ts',
      'budget-warnings.ts',
      'desk/counter-store.ts',
      'insert-budget.ts',
      'store.ts',
    ],
  },
  { level: 3, name: 'files', face: ['file.ts', 'keep-file.ts', 'file-in-reach.ts', 'store.ts'] },
  {
    level: 2,
    name: 'memory',
    face: [
      'upkeep-store.ts',
      'memory.ts',
      'store.ts',
      'search/read-named.ts',
      'summaries/summary.ts',
      'summaries/summary-store.ts',
      'warm/scope-lists.ts',
    ],
  },
  { level: 2, name: 'logs', face: ['log-entry.ts', 'store.ts'] },
  { level: 2, name: 'metrics', face: ['metric.ts', 'histogram.ts', 'store.ts'] },
  {
    level: 2,
    name: 'webhooks',
    face: [
      'webhook.ts',
      'store.ts',
      'delivery/delivery.ts',
      'callback-store.ts',
      'delivery/deliveries-of-request.ts',
      'delivery/deliveries-of-user.ts',
    ],
  },
  {
    level: 2,
    name: 'keys',
    face: [
      'key.ts',
      'escalation.ts',
      'key-names.ts',
      'key-tiers.ts',
      'make-key.ts',
      'personal/last-admin.ts',
      'personal/role-store.ts',
      'store.ts',
      'factors/factor.ts',
      'factors/factor-store.ts',
    ],
  },
  { level: 1, name: 'answers', face: ['conversation-answer.ts', 'store.ts'] },
  { level: 2, name: 'incoming', face: ['incoming-delivery.ts', 'store.ts'] },
  { level: 2, name: 'secrets', face: ['secret.ts', 'store.ts'] },
  {
    level: 2,
    name: 'connections',
    face: [
      'connection.ts',
      'store.ts',
      'grants/connection-grant.ts',
      'grants/grant-store.ts',
      'grants/erase-grants.ts',
    ],
  },
  {
    level: 2,
    name: 'usage',
    face: ['ledger-line.ts', 'periods.ts', 'prices/rates.ts', 'reservation.ts', 'reserved-store.ts', 'store.ts'],
  },
  {
    level: 1,
    name: 'agents',
    face: [
      'agent.ts',
      'agent-snapshot.ts',
      'check-definition.ts',
      'definition.ts',
      'named-models.ts',
      'store.ts',
      'tools/check-agent-tools.ts',
    ],
  },
  { level: 0, name: 'pauses', face: ['store.ts'] },
  { level: 0, name: 'projects', face: ['project.ts', 'store.ts'] },
  { level: 0, name: 'providers', face: ['provider.ts', 'store.ts'] },
]

/** The layers of the edge, from the top. */
const EDGE = ['server', 'pipeline', 'dialects', 'input']

/** Everyone may know what a dialect is. The supported ones are named in one list. */
const DIALECTS_FACE = new Set(['dialect.ts', 'dialects.ts'])

/** The single place where each outside thing is used. */
const DOORS: Record<string, RegExp> = {
  // To check a remote agent, the command line acts as its host.
  'node:http': /^(http\/|cli\/remote\/play-host\.ts$)/,
  pg: /^storage\/(postgres\/(postgres|change-listener)|inspect)\.ts$/,
  'node:sqlite':
    /^storage\/(sqlite\/(sqlite-worker|sqlite-messages|executor|lock)|inspect|snapshot|sqlite-copy|upgrade\/read-only-store)\.ts$/,
  ioredis:
    /^(security\/limits\/(open-limiter|shared-limiter|node-count)|runtime\/following\/redis-wire|cli\/commands\/service\/checks\/examine)\.ts$/,
  '@modelcontextprotocol/client': /^(runtime\/tools|security\/oauth)\//,
  '@modelcontextprotocol/server': /^http\/dialects\/mcp\//,
  '@a2a-js/': /^((http\/dialects|runtime\/remote-agent)\/a2a\/|runtime\/remote-agent\/check\/check-a2a\.ts$)/,
  jose: /^security\//,
  otpauth: /^security\//,
  'ipaddr.js': /^security\//,
  undici: /^(storage\/bytes\/s3-bytes\.ts|(security\/outgoing|runtime\/providers|cli\/connect)\/)/,
  'eventsource-parser': /^runtime\/providers\//,
  ajv: /^runtime\/schemas\//,
  '@fastify/busboy': /^http\/input\//,
  'file-type': /^storage\/bytes\/media-type\.ts$/,
  aws4fetch: /^storage\/bytes\//,
  croner: /^schedules\/times\.ts$/,
  '@opentelemetry/': /^telemetry\/open-telemetry\.ts$/,
  commander: /^cli\//,
  '@clack/prompts': /^cli\//,
}

/** Every import that the rules don't allow, as `from → to`. */
export function wrongArrows(files: readonly Arrows[]): string[] {
  return files.flatMap(({ file, imports }) =>
    imports.filter(({ to }) => !isAllowed(file, to)).map(({ to }) => `${file} → ${to}`),
  )
}

function isAllowed(from: string, to: string): boolean {
  if (!to.endsWith('.ts') || to.startsWith('..')) return isOutsideAllowed(from, to)
  const [fromRoom, toRoom] = [roomOf(from), roomOf(to)]
  if (fromRoom === 'slice' && toRoom === 'slice') return isSliceAllowed(from, to)
  if (fromRoom === 'http' && toRoom === 'http') return isEdgeAllowed(from, to)
  return fromRoom === toRoom || (MAY_REACH[fromRoom] ?? []).includes(toRoom)
}

function isSliceAllowed(from: string, to: string): boolean {
  const [user, used] = [sliceOf(from), sliceOf(to)]
  if (user === used) return true
  return user !== undefined && used !== undefined && used.level < user.level && used.face.includes(nameOf(to))
}

function isEdgeAllowed(from: string, to: string): boolean {
  const [, user = ''] = from.split('/')
  const [, used = '', file = ''] = to.split('/')
  if (user === used) return true
  if (used === 'dialects' && !DIALECTS_FACE.has(file)) return false
  return used === 'reference' ? user === 'server' : EDGE.indexOf(user) < EDGE.indexOf(used) && EDGE.includes(user)
}

function isOutsideAllowed(from: string, to: string): boolean {
  // Contains the version.
  if (to === '../package.json') return true
  // The client is a separate package. Only the command line, which is a client, may use it.
  if (to.startsWith('../')) return roomOf(from) === 'cli'
  const doors = Object.entries(DOORS).filter(([name]) => to === name || (name.endsWith('/') && to.startsWith(name)))
  return doors.every(([, door]) => door.test(from))
}

/** `slice` for a folder of the API, otherwise the folder, or the name of a file at the top. */
export function roomOf(file: string): string {
  const first = file.split('/')[0]?.replace(/\.ts$/, '') ?? ''
  return SLICES.some(({ name }) => name === first) ? 'slice' : first
}

export const ROOMS = Object.keys(MAY_REACH)

function sliceOf(file: string) {
  return SLICES.find(({ name }) => name === file.split('/')[0])
}

function nameOf(file: string): string {
  return file.split('/').slice(1).join('/')
}
