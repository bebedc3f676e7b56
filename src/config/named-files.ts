import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { certificateCheck } from '../security/client-certificate.ts'
import type { Problem } from './problems.ts'
import type { Path } from './settings.ts'
import { locate, type Sources, valueAt } from './sources.ts'

/** Settings that name a file, which must exist. */
const FILE_SETTINGS = {
  cert: ['server', 'tls', 'cert'],
  key: ['server', 'tls', 'key'],
  clientCert: ['security', 'mtls', 'clientCert'],
  clientKey: ['security', 'mtls', 'clientKey'],
  caCert: ['security', 'mtls', 'caCert'],
} as const satisfies Record<string, Path>

const CA_DIRECTORY: Path = ['server', 'tls', 'clientCaDir']

export const PATH_SETTINGS: readonly Path[] = [['data'], CA_DIRECTORY, ...Object.values(FILE_SETTINGS)]

/** Checks the files that the configuration names. If one can't be used, the service must not start. */
export function fileProblems(sources: Sources, cwd: string): Problem[] {
  const usesMtls = valueAt(sources.input, ['security', 'mtls', 'enabled']) === true
  const problems: Problem[] = []
  // Values aren't shown, because the operator may have put the key itself where its path belongs.
  const report = (path: Path, message: string) => problems.push(...locate(path, message, 'value', sources))

  const read = (path: Path): Buffer | undefined => {
    const file = valueAt(sources.input, path)
    if (typeof file !== 'string' || file === '' || (path[0] === 'security' && !usesMtls)) return undefined
    try {
      return readFileSync(resolve(cwd, file))
    } catch (error) {
      report(path, `must name a readable file (${(error as NodeJS.ErrnoException).code})`)
      return undefined
    }
  }
  const parse = <T>(path: Path, message: string, make: (bytes: Buffer) => T): T | undefined => {
    const bytes = read(path)
    try {
      return bytes && make(bytes)
    } catch {
      report(path, message)
      return undefined
    }
  }

  const certificate = (bytes: Buffer) => new X509Certificate(bytes)
  for (const [certPath, keyPath] of [
    [FILE_SETTINGS.cert, FILE_SETTINGS.key],
    [FILE_SETTINGS.clientCert, FILE_SETTINGS.clientKey],
  ] as const) {
    const cert = parse(certPath, 'must be a PEM file that begins with a certificate', certificate)
    const key = parse(keyPath, 'must be a PEM file with an unencrypted private key', createPrivateKey)
    if (cert && key && !cert.checkPrivateKey(key)) report(keyPath, 'is not the private key of the certificate')
  }
  parse(FILE_SETTINGS.caCert, 'must be a PEM file with a CA certificate', (bytes) =>
    certificateCheck(bytes.toString('utf8')),
  )
  const directory = valueAt(sources.input, CA_DIRECTORY)
  if (typeof directory === 'string' && !isDirectory(resolve(cwd, directory)))
    report(CA_DIRECTORY, 'must name a directory')
  return problems
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}
