import { constants } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server as HttpsServer, ServerOptions } from 'node:https'
import type { Logger } from '../../../lib/log.ts'
import { watchFiles } from '../../../lib/watch-files.ts'

type TlsSettings = { cert: string; key: string; reload: boolean }

/**
 * Asks every client for a certificate. The gates decide whether one is needed, because that differs from agent to
 * agent. Session tickets and renegotiation are off, so that a client proves its certificate on every connection and
 * cannot change it.
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
 * New connections get the new certificate, open ones keep theirs. While the files do not fit together, the old
 * certificate stays.
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
