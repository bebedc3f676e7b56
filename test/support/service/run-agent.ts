import { FileNotKept } from '../../../src/runtime/attachments/attachment.ts'
import { Cancellation } from '../../../src/runtime/deadline.ts'
import type { ToolStep } from '../../../src/runtime/outcome.ts'
import type { Provider } from '../../../src/runtime/providers/provider-source.ts'
import type { RunRequest } from '../../../src/runtime/runner.ts'
import { Runtime, type RuntimeOptions } from '../../../src/runtime/runtime.ts'
import { type AgentSpec, Limits } from '../../../src/runtime/spec.ts'
import type { Step } from '../../../src/runtime/steps.ts'
import { GuardedClient } from '../../../src/security/outgoing/guarded-client.ts'

import { FREE_METER } from './free-meter.ts'

const BARE_AGENT: AgentSpec = {
  kind: 'model',
  model: 'builtin/echo',
  temperature: null,
  instructions: null,
  tools: [],
  script: null,
  output: null,
  memory: { history: 20, recall: 5 },
  limits: Limits.parse({}),
  approvals: { expires_after_seconds: 60 },
}

/** The usual limits, except for these. */
export function limitsOf(more: Partial<AgentSpec['limits']>): AgentSpec['limits'] {
  return { ...BARE_AGENT.limits, ...more }
}

export const NOTHING_PAUSED = {
  watch: async () => ({ paused: new Cancellation(), release: () => {} }),
  find: async () => undefined,
}

/** For runs of agents with models. */
const NOTHING_REMOTE = {
  memory: { search: async () => [], write: async () => ({}) },
  sign: () => ({}),
  newSecret: () => '',
  addressOf: () => ({ url: '', token: '' }),
}

/** For agents without connections. */
const NO_CONNECTIONS: RuntimeOptions['connections'] = {
  use: async (_whose, name) => ({ state: 'refused', why: `The connection ${name} doesn't exist` }),
  widen: async (_whose, name) => ({ state: 'refused', why: `The connection ${name} doesn't exist` }),
  link: async () => ({ name: '', link_id: null, url: null }),
}

/** A runtime whose tools can reach this machine and whose retries don't delay the test. */
export function localRuntime({
  providers = [],
  ...options
}: Partial<Omit<RuntimeOptions, 'providers'>> & { providers?: readonly Provider[] } = {}) {
  const guarded = new GuardedClient({ allowInsecure: true, allowedCidrs: ['127.0.0.0/8'] })
  return new Runtime({
    providers: async () => providers,
    secrets: async () => ({}),
    connections: NO_CONNECTIONS,
    files: { find: async () => undefined, keep: () => Promise.reject(new FileNotKept('there is no room')) },
    pauses: NOTHING_PAUSED,
    isStoreAway: () => false,
    fetch: guarded.fetch,
    reach: (url, asked) => guarded.reach(url, asked),
    now: Date.now,
    defaultTimeoutMs: 10_000,
    retryDelayMs: 1,
    remote: NOTHING_REMOTE,
    ...options,
  })
}

/** The tools that a run has called, in the order of the calls in each answer. */
export function toolCalls({ steps }: { steps: readonly Step[] }): ToolStep[] {
  const calls: ToolStep[] = []
  let round = 0
  for (const step of steps) {
    if (step.kind === 'model') round = calls.length
    if (step.kind === 'tool') calls[round + step.index] = step.call
  }
  return calls
}

export function runOf(agent: Partial<AgentSpec>, run: Partial<RunRequest> = {}): RunRequest {
  return {
    request_id: 'req_1',
    attempt: 1,
    meter: FREE_METER,
    project_id: 'prj_default',
    agent_id: 'agt_1',
    created_by: 'key_1',
    agent: { ...BARE_AGENT, ...agent },
    message: 'Hello there',
    context: {},
    history: [],
    recalled: [],
    cancellation: new Cancellation(),
    ...run,
  }
}
