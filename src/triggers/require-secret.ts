import { invalid } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import type { Trigger } from './trigger.ts'

/** Refuses the name of a secret that doesn't exist, because the trigger would refuse every request. */
export async function requireSecret(
  { verify }: Pick<Trigger, 'verify'>,
  project_id: string,
  { secrets }: Pick<Parts, 'secrets'>,
): Promise<void> {
  if (verify.scheme === 'none' || Object.hasOwn(await secrets(project_id), verify.secret)) return
  throw invalid({ field: 'verify.secret', error: `the project has no secret named ${verify.secret}; set it first` })
}
