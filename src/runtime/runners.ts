import { Equipment, type EquipmentOptions } from './conversation/equipment.ts'
import { ModelRunner } from './model-agent/model-runner.ts'
import { RemoteRunner, type RemoteRunnerOptions } from './remote-agent/remote-runner.ts'

export type RunnerOptions = EquipmentOptions & {
  remote: Omit<RemoteRunnerOptions, 'reach' | 'fetch' | 'secrets' | 'now'>
}

/**
 * The runners by kind of agent, and what they share. Each runner gets only agents of its own kind. To add a kind, add a
 * line here, a folder beside `model-agent/`, and the kind's shape in `spec.ts` and `agents/definition.ts`.
 */
export function openRunners(options: RunnerOptions) {
  const equipment = new Equipment(options)
  return {
    equipment,
    model: new ModelRunner(equipment),
    remote: new RemoteRunner(equipment, { ...options, ...options.remote }),
  }
}
