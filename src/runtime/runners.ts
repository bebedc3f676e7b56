import { Equipment, type EquipmentOptions } from './conversation/equipment.ts'
import { ModelRunner } from './model-agent/model-runner.ts'
import { RemoteRunner, type RemoteRunnerOptions } from './remote-agent/remote-runner.ts'

export type RunnerOptions = EquipmentOptions & {
  remote: Omit<RemoteRunnerOptions, 'reach' | 'fetch' | 'secrets' | 'now'>
}

/**
 * The runners by kind of agent, and what they share. Each gets only agents of its own kind. For another kind, add a
 * line here, a folder beside `model-agent/`, and its shape in `spec.ts` and `agents/definition.ts`.
 */
export function openRunners(options: RunnerOptions) {
  const equipment = new Equipment(options)
  return {
    equipment,
    model: new ModelRunner(equipment),
    remote: new RemoteRunner(equipment, { ...options, ...options.remote }),
  }
}
