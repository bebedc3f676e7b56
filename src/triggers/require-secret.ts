import { type ErrorDetail, invalid } from '../errors.ts'
import type { Parts } from '../operation/parts.ts'
import { requireHost, SecretRefused } from '../runtime/tools/fill-secrets.ts'
import { checkUrl } from '../security/outgoing/guarded-url.ts'
import { policiesOf } from '../security/outgoing/policies.ts'
import { settingsOf } from './channels/call-platform.ts'
import type { ChannelKind } from './channels/channel.ts'
import { usesText } from './receive/payload.ts'
import type { Trigger } from './trigger.ts'

/** Refuses the name of a secret that doesn't exist, because the trigger would refuse every request. */
export async function requireSecret(
  { verify }: Pick<Trigger, 'verify'>,
  project_id: string,
  { secrets }: Pick<Parts, 'secrets'>,
): Promise<void> {
  if (verify.scheme === 'none' || Object.hasOwn(await secrets(project_id), verify.secret)) return
  throw invalid({ field: 'verify.secret', error: `the project has no secret named ${verify.secret}; set it first` })
}

const KINDS = ['slack', 'telegram', 'email'] as const satisfies ChannelKind[]
/** How providers of mail, and mail servers, can prove that a request is from them. */
const MAIL_SCHEMES: ReadonlySet<string> = new Set(['basic', 'bearer', 'ed25519', 'hmac', 'none', 'standard'])
/** What a platform's own messages decide. */
const DECIDED = ['user_from', 'session_from', 'dedupe_from'] as const

type KindFields = Pick<Trigger, 'kind' | 'reply' | 'verify' | ChannelKind | (typeof DECIDED)[number]> & {
  message?: string | undefined
}

/** Refuses settings that don't belong to the trigger's kind. */
export function requireKind(trigger: KindFields): void {
  const problem = kindProblem(trigger)
  if (problem) throw invalid(problem)
}

/** Refuses a platform that can't be called, and a token that can't be sent to it. */
export async function requireAccess(
  trigger: Pick<Trigger, 'kind' | ChannelKind>,
  project_id: string,
  { config, secrets }: Pick<Parts, 'config' | 'secrets'>,
): Promise<void> {
  const settings = settingsOf(trigger)
  if (!settings) return
  const { kind, api_url, bot_token } = settings
  const unreachable = checkUrl(api_url, policiesOf(config).outgoing)
  if (unreachable) throw invalid({ field: `${kind}.api_url`, error: unreachable.message })
  const known = await secrets(project_id)
  const secret = Object.hasOwn(known, bot_token) ? known[bot_token] : undefined
  const field = kind === 'email' ? 'email.api_key' : `${kind}.bot_token`
  if (!secret) throw invalid({ field, error: `the project has no secret named ${bot_token}; set it first` })
  const url = new URL(api_url)
  try {
    requireHost(`secret ${bot_token}`, secret, url)
  } catch (error) {
    if (!(error instanceof SecretRefused)) throw error
    throw invalid({ field, error: `can't be sent to ${url.host}; add the host to the secret's hosts` })
  }
}

function kindProblem(trigger: KindFields): ErrorDetail | undefined {
  const { kind, message, verify, reply } = trigger
  const foreign = KINDS.find((name) => name !== kind && trigger[name] !== null)
  if (foreign) return { field: foreign, error: `is only allowed with the kind ${foreign}` }
  if (kind === 'webhook') {
    if (message !== undefined && usesText(message))
      return { field: 'message', error: 'can use {{text}} only in conversations; use a JSON pointer' }
    return reply === null ? undefined : { field: 'reply', error: 'is only allowed in conversations' }
  }
  if (trigger[kind] === null) return { field: kind, error: `is required with the kind ${kind}` }
  if (kind === 'email') {
    if (!MAIL_SCHEMES.has(verify.scheme))
      return { field: 'verify.scheme', error: `must be one of ${[...MAIL_SCHEMES].join(', ')} with the kind email` }
  } else if (verify.scheme !== kind) return { field: 'verify.scheme', error: `must be ${kind} with the kind ${kind}` }
  const decided = DECIDED.find((field) => trigger[field] !== null)
  return decided && { field: decided, error: `is only allowed with the kind webhook` }
}
