import { invalid } from '../errors.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { toolProblems } from '../runtime/tools/review-tools.ts'
import type { Definition } from './definition.ts'

type Checked = { model?: Definition['model'] | undefined; tools?: Definition['tools'] | undefined }

/**
 * Checks what a shape cannot know: whether the model's provider is configured here, and whether the tools can be used.
 */
export function checkDefinition({ model, tools = [] }: Checked, runtime: Runtime): void {
  const problem = model === undefined ? undefined : runtime.checkModel(model)
  const problems = [...(problem ? [{ field: 'model', error: problem }] : []), ...toolProblems(tools)]
  if (problems.length > 0) throw invalid(...problems)
}
