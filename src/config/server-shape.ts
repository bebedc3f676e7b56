import { z } from 'zod'
import { AddressRange, WebAddress } from '../security/security-settings.ts'
import { duration } from './values.ts'

/** How the service is reached. */
export const ServerSettings = z.strictObject({
  host: z
    .string()
    .regex(/^[A-Za-z0-9.:-]+$/, 'must be a host name or an IP address')
    .default('127.0.0.1')
    .describe('Address to listen on'),
  port: z.int().min(0).max(65_535).default(8787).describe('Port to listen on. 0: a free port'),
  publicUrl: WebAddress.overwrite((url) => url.replace(/\/$/, ''))
    .optional()
    .describe(
      'URL at which clients and remote agents reach the service. It is used in agent cards, OAuth metadata and the sign-in links of connections. If not set: the `Host` of each request',
    ),
  metricsPort: z
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe(
      'Port on which Prometheus reads `/metrics` without a key. If not set, `/metrics` requires a key with the permission `manage`',
    ),
  metricsHost: z
    .string()
    .regex(/^[A-Za-z0-9.:-]+$/, 'must be a host name or an IP address')
    .default('127.0.0.1')
    .describe('Address that `metricsPort` listens on'),
  trustedProxies: z
    .array(AddressRange)
    .default([])
    .describe('Proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted'),
  requestTimeout: duration('1s', '10m')
    .prefault('30s')
    .describe(
      'How long a request can take to arrive, including the download of files that it refers to by URL. A TLS handshake has the same limit, but at most 10 s',
    ),
  stallTimeout: duration('1s', '10m')
    .prefault('30s')
    .describe('How long a client can stop reading its reply before its connection is closed'),
  drainDelay: duration('0s', '5m')
    .prefault('0s')
    .describe(
      'How long requests are still served after a stop signal while `/readyz` returns 503, so that load balancers notice',
    ),
  drainTimeout: duration('0s', '10m')
    .prefault('10s')
    .describe('How long requests in progress can take to finish after a stop signal'),
  tls: z
    .strictObject({
      cert: z.string().min(1).describe('PEM file: certificate chain'),
      key: z.string().min(1).describe('PEM file: private key'),
      reload: z.boolean().default(true).describe('Reload the files when they change'),
      clientCaDir: z
        .string()
        .min(1)
        .optional()
        .describe('Directory whose PEM files agents can name in `security.mtls.caCert`'),
    })
    .optional(),
})

/** MCP clients. */
export const McpSettings = z.strictObject({
  signIn: z
    .boolean()
    .default(false)
    .describe('Let people connect MCP clients by signing in instead of with a key. Requires `server.publicUrl`'),
})
