import { invalid, unavailable } from '../errors.ts'
import { laneKey } from '../lib/work/lane-key.ts'
import type { Actor } from '../operation/actor.ts'
import type { Context } from '../operation/context.ts'
import type { Parts } from '../operation/parts.ts'
import * as providers from '../providers/store.ts'
import { type ModelNames, namesOf } from '../runtime/models/model.ts'
import { modelProblem } from '../runtime/models/registry.ts'
import type { WantedOutput } from '../runtime/output/wanted-output.ts'
import { keysOf } from '../runtime/schemas/schema-errors.ts'
import type { Tool } from '../runtime/spec.ts'
import { toolProblems } from '../runtime/tools/review-tools.ts'
import type { Definition } from './definition.ts'

type DefinitionPart = { model?: ModelNames | undefined; tools?: readonly Tool[] | undefined }

/** Only an agent that runs elsewhere has a URL. */
export function checkKind({ kind, remote }: Pick<Definition, 'kind' | 'remote'>): void {
  if (kind === 'remote' && remote === null)
    throw invalid({ field: 'remote', error: 'is required for agents of kind `remote`' })
  if (kind !== 'remote' && remote !== null) {
    throw invalid({ field: 'remote', error: 'is only allowed for agents of kind `remote`' })
  }
}

/** Checks what a shape can't: whether the model's provider is configured here, and whether the tools can be used. */
export async function checkDefinition(
  { model, tools = [] }: DefinitionPart,
  { db, config, project_id }: Pick<Context, 'db' | 'config'> & { project_id: string },
): Promise<void> {
  // Uses the transaction's own connection, because waiting for another could cause a deadlock.
  const named = model === undefined ? [] : [...config.providers, ...(await providers.listAll(db, project_id))]
  const known = new Set(named.map(({ name }) => name))
  const problems = [...(model === undefined ? [] : modelProblems(model, known)), ...toolProblems(tools)]
  if (problems.length > 0) throw invalid(...problems)
}

function modelProblems(model: ModelNames, known: ReadonlySet<string>) {
  return namesOf(model).flatMap((name, index, names) => {
    const field = typeof model === 'string' ? 'model' : `model.${index}`
    const error =
      modelProblem(name, known) ?? (names.indexOf(name) < index ? 'appears more than once in the list' : undefined)
    return error === undefined ? [] : [{ field, error }]
  })
}

/** Refuses a schema that no answer could be checked against, and says where it is wrong. */
export async function checkOutputSchema(
  { output }: { output?: WantedOutput | null | undefined },
  parts: Pick<Parts, 'runtime'>,
  actor: Pick<Actor, 'id' | 'scope'>,
): Promise<void> {
  if (output) await checkSchema({ field: 'output.schema', schema: output.schema }, parts, actor)
}

/** The same for a schema in any field. */
export async function checkSchema(
  { field, schema }: { field: string; schema: object },
  { runtime }: Pick<Parts, 'runtime'>,
  { id, scope }: Pick<Actor, 'id' | 'scope'>,
): Promise<void> {
  const problems = await runtime.reviewSchema(laneKey(scope.project_id, id), schema)
  if (!problems) throw unavailable(`Checking the schema in ${field} took too long. Try again shortly.`)
  if (problems.length === 0) return
  throw invalid(...problems.map(({ at, problem }) => ({ field: [field, ...keysOf(at)].join('.'), error: problem })))
}
