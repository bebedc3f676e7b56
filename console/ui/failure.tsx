import type { MoorageError } from '../../sdk/client.ts'
import { Button } from './button.tsx'
import { Id } from './copy.tsx'
import { BudgetLink } from './data/budget-link.tsx'

/** For each error, the fields that show their own reason. */
const told = new WeakMap<MoorageError, Set<string>>()

/** An error: its code, its meaning, the request's ID, and a button to retry. */
export function Failure({ error, retry }: { error: MoorageError | undefined; retry?: (() => void) | undefined }) {
  if (!error) return null
  const { code, message, request_id } = error
  // Each error is shown only once. A form's fields are rendered before the error at its end.
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

/** The service's objection to a field of the form, to be shown next to it. */
export function reasonOf(error: MoorageError | undefined, field: string): string | undefined {
  const reason = error?.details?.find((detail) => detail.field === field)?.error
  if (error && reason) told.set(error, (told.get(error) ?? new Set()).add(field))
  return reason
}

/** The same for a field that contains a whole value, such as a schema: what is wrong, and where in the value. */
export function reasonWithin(error: MoorageError | undefined, field: string): string | undefined {
  const wrong = error?.details.find((detail) => detail.field === field || detail.field.startsWith(`${field}.`))
  const reason = wrong && reasonOf(error, wrong.field)
  const place = wrong?.field.slice(field.length + 1)
  return place ? `${place}: ${reason}` : reason
}
