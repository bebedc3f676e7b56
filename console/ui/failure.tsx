import type { MoorageError } from '../../sdk/client.ts'
import { Button } from './button.tsx'
import { Id } from './copy.tsx'
import { BudgetLink } from './data/budget-link.tsx'

/** The fields whose reason stands beside them, for each error. */
const told = new WeakMap<MoorageError, Set<string>>()

/** What went wrong: the code, what it means, the request's id, and another try. */
export function Failure({ error, retry }: { error: MoorageError | undefined; retry?: (() => void) | undefined }) {
  if (!error) return null
  const { code, message, request_id } = error
  // Each error is shown once. The fields of a form are made before the failure at its end is.
  const isRefused = code === 'budget_exceeded'
  const details = isRefused ? [] : (error.details ?? []).filter(({ field }) => !told.get(error)?.has(field))
  if (!isRefused && error.details?.length && details.length === 0) return null
  return (
    <div class="failure" role="alert">
      <p>
        <code>{code ?? 'error'}</code> {message} {isRefused && <BudgetLink details={error.details} />}
      </p>
      {details.length > 0 && (
        <ul>
          {details.map(({ field, error: reason }) => (
            <li key={field}>
              <code>{field}</code> {reason}
            </li>
          ))}
        </ul>
      )}
      {(request_id || retry) && (
        <p class="facts">
          {request_id && <Id id={request_id} />}
          {retry && (
            <Button icon="retry" onClick={retry}>
              Try again
            </Button>
          )}
        </p>
      )}
    </div>
  )
}

/** What the service says about one field of a form, to be shown beside it. */
export function reasonOf(error: MoorageError | undefined, field: string): string | undefined {
  const reason = error?.details?.find((detail) => detail.field === field)?.error
  if (error && reason) told.set(error, (told.get(error) ?? new Set()).add(field))
  return reason
}

/** The same for a field that holds a whole value, such as a schema: what is wrong with it, and where in it. */
export function reasonWithin(error: MoorageError | undefined, field: string): string | undefined {
  const wrong = error?.details.find((detail) => detail.field === field || detail.field.startsWith(`${field}.`))
  const reason = wrong && reasonOf(error, wrong.field)
  const place = wrong?.field.slice(field.length + 1)
  return place ? `${place}: ${reason}` : reason
}
