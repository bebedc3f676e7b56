import { readFileSync, realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve } from 'node:path'

const PEM = /-----BEGIN CERTIFICATE-----/
const MAX_BYTES = 1_048_576

/** The PEM behind an agent's `caCert`: the text itself, or a file below the directory that the operator allows. */
export function readAgentAuthority(caCert: string, directory: string | undefined): string {
  if (PEM.test(caCert)) return caCert
  if (directory === undefined) throw new Error('no directory for the authorities of agents is configured')
  const allowed = realpathSync(directory)
  // Symbolic links are followed first: what counts is where the file really lies.
  const file = realpathSync(resolve(allowed, caCert))
  const inside = relative(allowed, file)
  if (inside.startsWith('..') || isAbsolute(inside)) throw new Error(`${file} is outside of ${allowed}`)
  const pem = readFileSync(file)
  if (pem.length > MAX_BYTES) throw new Error(`${file} has more than ${MAX_BYTES} bytes`)
  return pem.toString('utf8')
}
