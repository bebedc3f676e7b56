import { invalid } from '../errors.ts'
import { SECRET_NAME } from '../security/tool-secret.ts'

/** Tools name a secret or a connection in placeholders such as `{{secret.NAME}}`. */
export function requireToolName(name: string): void {
  if (SECRET_NAME.test(name)) return
  throw invalid({
    field: 'name',
    error: "must be 1 to 64 letters, digits or underscores, and can't start with a digit",
  })
}
