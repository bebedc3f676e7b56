import assert from 'node:assert/strict'
import { localFetch } from '../../../src/cli/connect/local-store.ts'
import { codeAt, stepAt } from '../../../src/security/one-time-code.ts'
import { partsOf } from '../inside.ts'
import type { Service } from '../service/service.ts'

/** Calls one operation directly on the database, as the command line on the server does. */
export async function asHost(service: Service, method: string, path: string, body?: unknown) {
  const headers = service.project === undefined ? {} : { 'Moorage-Project': service.project }
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await localFetch(partsOf(service))(`http://local${path}`, init)
  // Each test asserts the shape itself.
  // oxlint-disable-next-line typescript/no-explicit-any
  return { status: response.status, body: (await response.json()) as any }
}

export type Authenticator = {
  secret: string
  /** The code that the app shows now, or some steps of 30 s from now. */
  code(offset?: number): string
  /** A code that isn't accepted now. */
  wrong(): string
}

export function authenticator(service: Service, secret: string): Authenticator {
  const code = (offset = 0) => codeAt({ secret, step: stepAt(service.now()) + offset })
  return {
    secret,
    code,
    wrong() {
      const right = new Set([-1, 0, 1].map(code))
      return ['000000', '111111', '222222', '333333'].find((text) => !right.has(text)) as string
    },
  }
}

/**
 * Gives a key its second factor, as the command line on the server does. It uses the previous code, so the current one
 * is still unused.
 */
export async function enrol(service: Service, key_id: string): Promise<Authenticator> {
  const { status, body } = await asHost(service, 'POST', `/v1/keys/${key_id}/mfa`)
  assert.equal(status, 200, JSON.stringify(body))
  const app = authenticator(service, body.data.secret)
  const confirm = () => asHost(service, 'POST', `/v1/keys/${key_id}/mfa/confirm`, { code: app.code(-1) })
  let confirmed = await confirm()
  // The next step began between making the code and checking it.
  if (confirmed.status === 400) confirmed = await confirm()
  assert.equal(confirmed.status, 200, JSON.stringify(confirmed.body))
  return app
}
