import type { TestContext } from 'node:test'
import { type OidcIssuer, startOidcIssuer } from '../outside/oidc-issuer.ts'
import { type Engine, type Service, type Settings, withService } from './service.ts'

/** A service with these identity providers, which know its URL. */
export async function withIssuers(
  engine: Engine,
  issuers: { issuer: OidcIssuer; entry: object; backchannel?: boolean }[],
  story: (service: Service) => Promise<void>,
  settings: Settings = {},
): Promise<void> {
  const oidc = issuers.map(({ issuer, entry }) => issuer.entry(entry))
  await withService(
    engine,
    async (service) => {
      for (const { issuer, backchannel = false } of issuers) issuer.serve(service.url, { backchannel })
      await story(service)
    },
    { MOORAGE_CONSOLE__OIDC: JSON.stringify(oidc), ...settings },
  )
}

/** An identity provider that exists until the test ends, however it ends. */
export async function issuerOf(t: TestContext, options: { name?: string } = {}): Promise<OidcIssuer> {
  const issuer = await startOidcIssuer(options)
  t.after(() => issuer.close())
  return issuer
}
