import type { OidcIssuer } from '../outside/oidc-issuer.ts'
import type { Service } from '../service/service.ts'
import type { Visit, VisitOptions } from './console-visit.ts'

/** The provider is at 127.0.0.1, so for the browser it is a different site. */
export const consoleUrl = (service: Service) => service.url.replace('127.0.0.1', 'localhost')

type OpenWindow = (path: string, options?: VisitOptions) => Promise<Visit>

/** Windows in which people sign in with an identity provider. */
export function personWindows(visit: OpenWindow, service: () => Service, issuer: () => OidcIssuer) {
  const open = async (path: string, options: VisitOptions = {}) => {
    const window = await visit(path, { key: null, url: consoleUrl(service()), ...options })
    window.expect(new RegExp(issuer().url))
    return window
  }
  /** Signs in as the person with this subject at the provider. */
  const signIn = async ({ page }: Visit, subject: string | undefined) => {
    issuer().next = subject
    await page.getByRole('button', { name: 'Sign in with Corporate login' }).click()
  }
  return {
    open,
    signIn,
    async openAs(subject: string, path: string, options: VisitOptions = {}) {
      const window = await open(path, options)
      await signIn(window, subject)
      await window.page.locator('.sidebar').waitFor()
      return window
    },
  }
}
