import { readFileSync, realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'

const PEM = /-----BEGIN CERTIFICATE-----/
const MAX_BYTES = 1_048_576

/** The PEM of an agent's `caCert`, which is the text itself or a file inside the directory that the operator allows. */
export function readAgentAuthority(caCert: string, directory: string | undefined): string {
  if (PEM.test(caCert)) return caCert
  if (directory === undefined)
    throw new Error('an authority is named by its file, but server.tls.clientCaDir is not set')
  const allowed = realpathSync(directory)
  // Symbolic links are resolved first, so that the file's real location is checked.
  const file = realpathSync(resolve(allowed, caCert))
  const inside = relative(allowed, file)
  if (inside.startsWith('..') || isAbsolute(inside)) throw new Error(`${file} is outside of ${allowed}`)
  const pem = readFileSync(file)
  if (pem.length > MAX_BYTES) throw new Error(`${file} has more than ${MAX_BYTES} bytes`)
  return pem.toString('utf8')
}
