import { z } from 'zod'
import { badRequest, forbidden } from '../../../errors.ts'
import { parseIfJson } from '../../../lib/json.ts'
import type { Actor } from '../../../operation/actor.ts'
import type { Parts } from '../../../operation/parts.ts'
import { readBytes } from '../../input/body.ts'
import type { ArrivedRequest } from '../../pipeline/request.ts'

const PURPOSE = 'oauth.consent'
const Made = z.object({ request: z.string(), session: z.string() })
const FORM_TYPE = /^application\/x-www-form-urlencoded\s*(?:;|$)/i
const MAX_FORM_BYTES = 16 * 1024

/** The request that a page shows, and the actor to whom it is shown. */
type ShownConsent = { request: string; actor: Actor }

/** A value in the form which shows that the form was made for this request and this session. */
export function makeConsentForm({ request, actor }: ShownConsent, { keyring }: Pick<Parts, 'keyring'>): string {
  const made = { request, session: actor.console_session ?? '' }
  return keyring.encrypt(JSON.stringify(made), PURPOSE)
}

export function isConsentForm(
  form: string,
  { request, actor }: ShownConsent,
  { keyring }: Pick<Parts, 'keyring'>,
): boolean {
  try {
    const made = Made.safeParse(parseIfJson(keyring.decrypt(form, PURPOSE))).data
    return made?.request === request && made.session === actor.console_session
  } catch {
    return false
  }
}

/** The form must come from our own page. Browsers say so with every form, and other pages can't change what they say. */
export async function readOwnForm(
  { message }: ArrivedRequest,
  publicUrl: string,
  { config }: Pick<Parts, 'config'>,
): Promise<URLSearchParams> {
  const { headers } = message
  const isOurs = headers.origin === publicUrl && (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin'
  if (!isOurs) throw forbidden('Only the page of this service can send this form.')
  if (!FORM_TYPE.test(headers['content-type'] ?? '')) throw badRequest('This is not a form.')
  const bytes = await readBytes(message, { ...config, limits: { body: MAX_FORM_BYTES } })
  return new URLSearchParams(bytes?.toString('utf8') ?? '')
}
