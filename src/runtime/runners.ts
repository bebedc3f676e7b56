import { ModelRunner, type ModelRunnerOptions } from './model-agent/model-runner.ts'
import type { Runner } from './runner.ts'
import type { AgentSpec } from './spec.ts'

export type RunnerOptions = ModelRunnerOptions
/** A runner is given agents of its own kind only. */
export type Runners = Record<AgentSpec['kind'], Runner>

/**
 * The runners by the kind of agent. Another kind is a line here, a room beside `model-agent/`, and its shape in `spec.ts`
 * and `agents/definition.ts`.
 */
export function openRunners(options: RunnerOptions): Runners {
  return { model: new ModelRunner(options) }
}
