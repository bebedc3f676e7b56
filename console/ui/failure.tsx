import type { MoorageError } from '../../sdk/client.ts'
import { Button } from './button.tsx'
import { Id } from './copy.tsx'

/** What went wrong: the code, what it means, the request's id, and another try. */
export function Failure({ error, retry }: { error: MoorageError | undefined; retry?: (() => void) | undefined }) {
  if (!error) return null
  const { code, message, request_id, details = [] } = error
  return (
    <div class="failure" role="alert">
      <p>
        <code>{code ?? 'error'}</code> {message}
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

/** What the service says about one field of a form. */
export function reasonOf(error: MoorageError | undefined, field: string): string | undefined {
  return error?.details?.find((detail) => detail.field === field)?.error
}
