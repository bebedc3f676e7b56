import type { Deployment } from '../../../sdk/client.ts'
import { WORKING_COPY } from '../../lib/agents/served-by.ts'

/** What an invocation can use: each environment, and the draft. */
export function choicesOf(active: Deployment[]): { value: string; label: string }[] {
  const deployed = active.map(({ environment, version }) => ({
    value: environment,
    label: `${environment} · ${version}`,
  }))
  const hasProduction = active.some(({ environment }) => environment === 'production')
  return [
    ...(hasProduction ? [] : [{ value: 'production', label: 'production · draft' }]),
    ...deployed.toSorted((a, b) => Number(b.value === 'production') - Number(a.value === 'production')),
    ...(hasProduction ? [{ value: WORKING_COPY, label: 'draft' }] : []),
  ]
}
