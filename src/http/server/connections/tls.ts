import { constants } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server as HttpsServer, ServerOptions } from 'node:https'
import type { Logger } from '../../../lib/log.ts'
import { watchFiles } from '../../../lib/watch-files.ts'

type TlsSettings = { cert: string; key: string; reload: boolean }

/**
 * The TLS settings. Every client is asked for a certificate, and the gates decide whether one is required, because that
 * depends on the agent. Session tickets and renegotiation are off, so a client must prove its certificate on every
 * connection and can't change it.
 */
export function tlsOptions({ cert, key }: TlsSettings): ServerOptions {
  return {
    cert: readFileSync(cert),
    key: readFileSync(key),
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
    requestCert: true,
    rejectUnauthorized: false,
  }
}

/**
 * Loads changed certificate files. New connections get the new certificate, and open ones keep theirs. While the files
 * don't match, the old certificate stays in use.
 */
export function reloadTls(server: HttpsServer, settings: TlsSettings, log: Logger): () => void {
  if (!settings.reload) return () => {}
  return watchFiles([settings.cert, settings.key], () => {
    try {
      server.setSecureContext(tlsOptions(settings))
      log.info('the TLS certificate was reloaded')
    } catch (err) {
      log.error({ err }, 'the new TLS certificate cannot be used; the old one stays in use')
    }
  })
}
