import { MoorageError } from '../../sdk/errors.ts'

/** The exit codes that scripts can rely on; docs/cli.md explains them. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  auth: 4,
  declined: 5,
  rateLimited: 6,
  unreachable: 7,
  waiting: 8,
  interrupted: 130,
} as const

/** Ends a command with a message for people and an exit code for scripts. */
export class Failure extends Error {
  readonly exitCode: number
  readonly hint: string | undefined

  constructor(exitCode: number, message: string, hint?: string, cause?: MoorageError) {
    super(message, { cause })
    this.exitCode = exitCode
    this.hint = hint
  }
}

export function usage(message: string, hint?: string): Failure {
  return new Failure(EXIT.usage, message, hint)
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode
  if (!(error instanceof MoorageError)) return EXIT.failed
  const { status } = error
  if (status === 0 || status === 503) return EXIT.unreachable
  if (status === 401 || status === 403) return EXIT.auth
  if (status === 404) return EXIT.notFound
  if (status === 429) return EXIT.rateLimited
  return [400, 413, 415, 422].includes(status) ? EXIT.usage : EXIT.failed
}

/** The error codes for --json when the command itself failed. Errors from the service have their own codes. */
const CODES: Record<number, string> = {
  [EXIT.usage]: 'usage',
  [EXIT.notFound]: 'not_found',
  [EXIT.auth]: 'unauthorized',
  [EXIT.declined]: 'declined',
  [EXIT.unreachable]: 'unreachable',
  [EXIT.waiting]: 'waiting',
  [EXIT.interrupted]: 'interrupted',
}

/** The error in the form of the API, for programs. */
export function failureBody(error: unknown) {
  const exit_code = exitCodeOf(error)
  const hint = error instanceof Failure ? error.hint?.trim().replaceAll(/\n +/g, '\n') : undefined
  const said = error instanceof Failure && error.cause ? error.cause : error
  if (said instanceof MoorageError) {
    const { code, message, details, retry_after, request_id } = said
    const more = { ...(retry_after !== undefined && { retry_after }), ...(details.length > 0 && { details }) }
    const body = { code, message, ...more, ...(hint && { hint }) }
    return { success: false, error: body, ...(request_id && { request_id }), exit_code }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { success: false, error: { code: CODES[exit_code] ?? 'failed', message, ...(hint && { hint }) }, exit_code }
}

/** One line that says what went wrong, and further lines that help. */
export function explain(error: unknown): string {
  if (error instanceof Failure) {
    const { message, hint, cause } = error
    return lines(message, hint, cause instanceof MoorageError && `  request ${cause.request_id}`)
  }
  if (!(error instanceof MoorageError)) return error instanceof Error ? error.message : String(error)
  // An answer that is wrong as a whole has no field.
  const details = error.details.map(({ field, error: problem }) =>
    field === '' ? problem : `${optionOf(field)}: ${problem}`,
  )
  const [first, ...others] = details
  const message = first !== undefined && error.message === GENERAL ? first : undefined
  const more = message === undefined ? details : others
  const hints = [
    ...more.map((detail) => `  ${detail}`),
    hintFor(error),
    error.request_id && `  request ${error.request_id}`,
  ]
  return lines(message ?? error.message, ...hints)
}

/** Not shown if there are details, because they are more precise. */
const GENERAL = 'Validation failed'

/** The option that sets a field. A project is named in a header, which is an option here. */
function optionOf(field: string): string {
  return field === 'Moorage-Project' ? '--project' : field
}

function hintFor({ code, retry_after }: MoorageError): string | undefined {
  if (code === 'unauthorized') {
    return '  The key is invalid, revoked or expired. Run `moorage login`, or `moorage keys create --local` on the server.'
  }
  if (code === 'mfa_required') {
    return '  Pass the current code from your authenticator app with --otp. To set up the first second factor, run `moorage mfa enrol <key_id> --local` on the server.'
  }
  if ((code === 'rate_limited' || code === 'budget_exceeded') && retry_after) return `  Try again in ${retry_after} s.`
  if (code === 'unreachable')
    return '  Is the service running? Start it with `moorage start`. `moorage whoami` shows which URL is used.'
  return undefined
}

function lines(...parts: (string | undefined | false)[]): string {
  return parts.filter((part) => part).join('\n')
}
