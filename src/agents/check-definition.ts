import { invalid } from '../errors.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Definition } from './definition.ts'

/** What a shape cannot know: whether the model's provider is configured here. */
export function checkDefinition({ model }: { model?: Definition['model'] | undefined }, runtime: Runtime): void {
  const problem = model === undefined ? undefined : runtime.checkModel(model)
  if (problem) throw invalid({ field: 'model', error: problem })
}
