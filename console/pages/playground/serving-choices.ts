import type { Deployment } from '../../../sdk/client.ts'

/** No version is deployed to an environment of this name, so it serves the working copy. */
const WORKING_COPY = 'working-copy'

/** What an invocation may be served by: each environment, and the working copy. */
export function choicesOf(active: Deployment[]): { value: string; label: string }[] {
  const deployed = active.map(({ environment, version }) => ({
    value: environment,
    label: `${environment} · ${version}`,
  }))
  const hasProduction = active.some(({ environment }) => environment === 'production')
  return [
    ...(hasProduction ? [] : [{ value: 'production', label: 'production · working copy' }]),
    ...deployed.toSorted((a, b) => Number(b.value === 'production') - Number(a.value === 'production')),
    ...(hasProduction ? [{ value: WORKING_COPY, label: 'working copy' }] : []),
  ]
}
