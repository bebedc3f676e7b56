import type { Config } from '../config.ts'
import { OidcIssuer } from '../security/oidc/oidc-issuer.ts'

/** The configured identity providers. */
export class Issuers {
  readonly #byName: ReadonlyMap<string, OidcIssuer>

  constructor({ console }: Config, now: () => number) {
    this.#byName = new Map(console.oidc.map((settings) => [settings.name, new OidcIssuer(settings, now)]))
  }

  find(name: string): OidcIssuer | undefined {
    return this.#byName.get(name)
  }

  /** The providers that the sign-in page offers. */
  list(): { name: string; label: string }[] {
    return Array.from(this.#byName.values(), ({ settings: { name, label } }) => ({ name, label: label ?? name }))
  }
}
