import type { Budget } from '../../../sdk/client.ts'

type Props = { of: Budget | undefined; isNamed?: boolean }

/** Why the budget refuses every call of a model or an agent. Lists of budgets don't contain this. */
export function Warnings({ of: budget, isNamed }: Props) {
  const { name, warnings = [] } = budget ?? {}
  if (warnings.length === 0) return null
  return (
    <div class="notice budget-warnings" role="status">
      {warnings.map((text) => (
        <p key={text}>
          {isNamed && <b>{name}:</b>} {text}
        </p>
      ))}
    </div>
  )
}
