import type { Invocation } from '../../../sdk/client.ts'

/** Stands for an environment without deployments, which serves the draft. */
export const WORKING_COPY = 'working-copy'

export function servedBy({ environment, version }: Pick<Invocation, 'environment' | 'version'>): string {
  return environment === WORKING_COPY && version === null ? 'draft' : `${environment} · ${version ?? 'draft'}`
}
