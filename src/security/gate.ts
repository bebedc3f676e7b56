import { parseDuration } from '../lib/duration.ts'
import { type CertificateCheck, certificateCheck } from './client-certificate.ts'
import { type IpList, ipList } from './ip-list.ts'
import type { Rate } from './limits/rate-limiter.ts'
import type { SecuritySettings } from './security-settings.ts'

/**
 * A `security` block, parsed once. The service has one, and every agent can have its own. An undefined field requires
 * nothing.
 */
export type Gate = {
  /** What it requires of a connection. */
  connection: ConnectionRules | undefined
  /** Counts all callers together. */
  rate: (Rate & { limit: number }) | undefined
  /** The names of operations that need a one-time code. */
  mfa: ReadonlySet<string> | undefined
  /** Seconds. */
  hsts: number | undefined
  /** If undefined, the service's setting applies, if there is one. */
  cors: Cors | undefined
}

export type ConnectionRules = {
  https: boolean
  addresses: IpList | undefined
  certificate: CertificateCheck | undefined
}

/** The origins of pages that may read replies. A browser may remember this for `maxAge` seconds. */
export type Cors = { origins: ReadonlySet<string>; maxAge: number }

/** `readAuthority` converts `caCert` to PEM. */
export function gateOf(settings: SecuritySettings, readAuthority: (caCert: string) => string): Gate {
  const { ipWhitelist, mtls, enforceHttps, hsts, rateLimit, mfa, cors } = settings
  const connection = {
    https: enforceHttps,
    addresses: ipWhitelist.enabled ? ipList(ipWhitelist.addresses) : undefined,
    certificate: mtls.enabled ? certificateCheck(readAuthority(mtls.caCert ?? '')) : undefined,
  }
  return {
    connection: enforceHttps || ipWhitelist.enabled || mtls.enabled ? connection : undefined,
    rate: rateLimit.enabled ? rateOf(rateLimit) : undefined,
    mfa: mfa.enabled ? new Set(mfa.requiredFor) : undefined,
    hsts: hsts.enabled ? hsts.maxAge : undefined,
    cors: cors && { origins: new Set(cors.origins), maxAge: cors.maxAge },
  }
}

export function rateOf({ requests, window }: SecuritySettings['rateLimit']): NonNullable<Gate['rate']> {
  return { perMinute: (requests * 60_000) / parseDuration(window), burst: requests, limit: requests }
}
