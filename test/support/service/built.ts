import { join } from 'node:path'

/** The service or the command line as `npm start` and the published package run them. `npm test` has built them. */
export function built(program: 'main' | 'cli'): string {
  return join(import.meta.dirname, '../../../dist/service', `${program}.js`)
}
