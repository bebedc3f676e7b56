import { z } from 'zod'
import { isLoopback } from '../lib/loopback.ts'
import { type Config, ConfigSettings } from './shape.ts'

type ReportMistake = (path: string[], message: string) => void

/**
 * Rules about several settings. Each is checked if the settings that it needs are valid, no matter what else is wrong.
 */
const RULES: { needs: string[]; check(config: Config, report: ReportMistake): void }[] = [
  {
    needs: ['security.enforceHttps', 'server.tls', 'server.trustedProxies'],
    check({ security, server }, report) {
      if (!security.enforceHttps || server.tls || server.trustedProxies.length > 0) return
      report(['security', 'enforceHttps'], 'no client could connect; also set server.tls or server.trustedProxies')
    },
  },
  {
    needs: ['server.port', 'server.metricsPort'],
    check({ server: { port, metricsPort } }, report) {
      if (metricsPort === undefined || metricsPort === 0 || metricsPort !== port) return
      report(['server', 'metricsPort'], 'must be different from server.port')
    },
  },
  {
    needs: ['security.mtls.enabled', 'server.tls'],
    check({ security, server }, report) {
      if (security.mtls.enabled && !server.tls) report(['security', 'mtls', 'enabled'], 'requires server.tls')
    },
  },
  {
    needs: ['security.mtls.enabled', 'security.mtls.caCert'],
    check({ security: { mtls } }, report) {
      if (!mtls.enabled || mtls.caCert !== undefined) return
      report(['security', 'mtls', 'caCert'], 'is required when mtls is enabled')
    },
  },
  {
    needs: ['mcp.signIn', 'console.enabled'],
    check({ mcp, console }, report) {
      if (mcp.signIn && !console.enabled) report(['mcp', 'signIn'], 'requires console.enabled')
    },
  },
  {
    needs: ['mcp.signIn', 'server.publicUrl'],
    check({ mcp, server: { publicUrl } }, report) {
      if (!mcp.signIn) return
      const problem = publicUrl === undefined ? 'requires server.publicUrl' : problemOfIssuer(publicUrl)
      if (problem !== undefined) report(['mcp', 'signIn'], problem)
    },
  },
  {
    needs: ['limits.defaultTier', 'limits.tiers'],
    check({ limits: { defaultTier, tiers } }, report) {
      if (Object.hasOwn(tiers, defaultTier)) return
      report(['limits', 'defaultTier'], `must be one of the tiers: ${Object.keys(tiers).join(', ')}`)
    },
  },
]

/** Clients of OAuth look for documents at the root of this URL, and send tokens there. */
function problemOfIssuer(publicUrl: string): string | undefined {
  const url = URL.parse(publicUrl)
  if (url?.origin !== publicUrl) return 'requires a server.publicUrl without a path, such as https://agents.example.com'
  const isSafe = url.protocol === 'https:' || isLoopback(url.hostname)
  return isSafe ? undefined : 'requires a server.publicUrl that begins with https://'
}

/** The single shape of the configuration: types, checks, defaults and documentation. */
export const ConfigShape = ConfigSettings.superRefine(
  (config, context) => {
    const issues = [...context.issues]
    for (const { needs, check } of RULES) {
      if (issues.some((issue) => needs.some((path) => concerns(issue, path)))) continue
      check(config, (path, message) => context.addIssue({ code: 'custom', path, message }))
    }
  },
  { when: () => true },
)

/** The JSON Schema of `moorage.yaml`, for editors. */
export function configSchema(): z.core.JSONSchema.BaseSchema {
  return { title: 'Moorage configuration', ...z.toJSONSchema(ConfigShape, { io: 'input' }) }
}

/**
 * Whether an issue affects a setting. An unknown key doesn't affect others. Other issues affect the settings above and
 * below.
 */
function concerns(issue: z.core.$ZodRawIssue, needed: string): boolean {
  if (issue.code === 'unrecognized_keys') return false
  const path = (issue.path ?? []).join('.')
  return `${path}.`.startsWith(`${needed}.`) || `${needed}.`.startsWith(`${path}.`)
}
