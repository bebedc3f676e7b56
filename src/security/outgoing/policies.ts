import type { UrlPolicy } from './guarded-url.ts'

/** What the operator allows, as far as it is configured. */
type OutgoingAllowance = { allowInsecure?: boolean | undefined; allowedCidrs?: readonly string[] | undefined }

type OpeningSettings = { outgoing: OutgoingAllowance; webhooks: OutgoingAllowance }

/**
 * What may be called by tools, MCP servers and agents' identity providers (`outgoing`), and by webhooks, which have
 * their own settings and otherwise use those of `outgoing`.
 */
export function policiesOf({ outgoing, webhooks }: OpeningSettings): { outgoing: UrlPolicy; webhooks: UrlPolicy } {
  return {
    outgoing: {
      allowInsecure: outgoing.allowInsecure ?? false,
      allowedCidrs: outgoing.allowedCidrs ?? [],
      settings: { allowInsecure: 'outgoing.allowInsecure', allowedCidrs: 'outgoing.allowedCidrs' },
    },
    webhooks: {
      allowInsecure: webhooks.allowInsecure ?? outgoing.allowInsecure ?? false,
      allowedCidrs: webhooks.allowedCidrs ?? outgoing.allowedCidrs ?? [],
      settings: {
        allowInsecure: `${webhooks.allowInsecure === undefined ? 'outgoing' : 'webhooks'}.allowInsecure`,
        allowedCidrs: `${webhooks.allowedCidrs === undefined ? 'outgoing' : 'webhooks'}.allowedCidrs`,
      },
    },
  }
}
