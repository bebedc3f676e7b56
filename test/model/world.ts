// Everything that clients of a service were promised to find, as plain values. There is no storage here, no HTTP and no
// concurrency: one operation after the other changes it, as docs/ says.

export type World = {
  /** In milliseconds. Only `passTime` moves it. */
  time: number
  projects: Record<string, Project>
  keys: Record<string, Key>
  /** What requests with an Idempotency-Key were answered: docs/invocations.md, "Retry safely". */
  replies: Record<string, Reply>
  /** Calls that tools and models outside have received, by run: what the service did in the world. */
  outside: Record<string, Calls>
  /** Runs of which nothing was stored, though their model may have been asked. */
  unsure: string[]
  /** Events that receivers were sent, and those that they may have been sent. */
  deliveries: { project: string; url: string; type: string; about: string; certain: boolean }[]
}

export type Project = {
  agents: Record<string, Agent>
  budgets: Record<string, Budget>
  webhooks: Record<string, Webhook>
  files: Record<string, StoredFile>
  usage: Record<string, Used>
}

export type Agent = {
  /** What its instructions say. A model outside repeats it, so an answer shows which version gave it. */
  persona: string
  status: 'running' | 'paused'
  remember: boolean
  /** How many turns of the session the model sees. */
  history: number
  versions: Record<string, Version>
  /** By environment, the latest last. */
  deployments: Record<string, Deployment[]>
  runs: Record<string, Run>
  memories: Memory[]
  schedules: Record<string, Schedule>
}

export type Version = Pick<Agent, 'persona' | 'remember' | 'history'>

export type Deployment = {
  version: string
  status: 'active' | 'superseded' | 'rolled_back'
}

export type Run = {
  status: 'completed' | 'failed' | 'cancelled' | 'waiting'
  plan: Plan
  /** Null when it is erased. */
  message: string | null
  response: string | null
  version: string | null
  user: string | null
  session: string | null
  environment: string
  tokens: number
  by: string
  door: 'api' | 'openai' | 'schedule'
  answering: Version
  /** The turns of the session that its model saw, the oldest first. */
  saw: string[]
  /** What the agent remembered of the user, or of the session, when it began. Its model may be shown that, and no more. */
  knew: string[]
  /** A budget had no room for its next call. */
  isOverBudget?: true
  /** It was interrupted: nobody knows how many calls it has made, and what they have used. */
  isCutOff?: boolean
}

/** What the outside does when it reads the message: the message says so itself. */
export type Plan = 'answer' | 'refuse' | 'tool' | 'ask'

export type Memory = {
  kind: 'turn' | 'note'
  about: string
  role: string | null
  user: string | null
  session: string | null
}

export type Key = {
  /** Null: all projects. */
  project: string | null
  agent: string | null
  permissions: Permission[]
  revoked: boolean
  createdBy: string | null
}

export type Permission = 'read' | 'invoke' | 'write' | 'delete' | 'manage' | 'approve'

export type Schedule = {
  every: number
  next: number
  message: string
  enabled: boolean
  missed: number
  /** How many times have passed since its agent was paused. */
  passed: number
  ran: number
  by: string
}

export type Budget = {
  agent: string | null
  limit: { kind: 'runs' | 'tokens'; amount: number }
  action: 'refuse' | 'notify'
  used: number
  by: string
}

export type Webhook = { agent: string | null; events: string[]; isEnabled: boolean }

export type StoredFile = { content: string; user: string | null; by: string }

export type Used = { calls: number; input: number; output: number }

export type Calls = { model: number; tool: number; refund: number }

/** What a client is told: a status, the code of an error, and what the body promises. */
export type Answer = { status: number; code?: string; says?: unknown; isReplayed?: true }

/** What a request with an Idempotency-Key was answered. */
type Reply = {
  asked: string
  at: number
  answer: Answer
  /** Where its run is, if it's about one. */
  run: { project: string; agent: string; name: string } | null
  /** The user that it names, and where. */
  user: string | null
  place: { project: string; agent: string | null }
  /** The run had to wait: a retry gets its current state. */
  isWaiting: boolean
  isErased?: boolean
  /** The agent of its run was deleted, and the reply with it, but not at once. */
  isFading?: boolean
}

/** A service that has just started, without its agent `hello`. Its first key may do everything, in every project. */
export function emptyWorld(time: number): World {
  const project = (): Project => ({ agents: {}, budgets: {}, webhooks: {}, files: {}, usage: {} })
  const permissions: Permission[] = ['read', 'write', 'delete', 'manage', 'approve']
  const root: Key = { project: null, agent: null, permissions, revoked: false, createdBy: null }
  return {
    time,
    projects: { default: project(), harbour: project() },
    keys: { root },
    replies: {},
    outside: {},
    unsure: [],
    deliveries: [],
  }
}

/** An error reply. */
export class Refusal extends Error {
  readonly answer: Answer
  constructor(status: number, code: string) {
    super(code)
    this.answer = { status, code }
  }
}
