import type { Invocation } from '../../../sdk/client.ts'

/** No version is deployed to an environment of this name, so it serves the working copy. */
export const WORKING_COPY = 'working-copy'

export function servedBy({ environment, version }: Pick<Invocation, 'environment' | 'version'>): string {
  return environment === WORKING_COPY && version === null ? 'draft' : `${environment} · ${version ?? 'draft'}`
}
