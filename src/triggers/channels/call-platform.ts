import { wellFormedJson } from '../../lib/json.ts'
import type { Parts } from '../../operation/parts.ts'
import { retryAfter } from '../../runtime/providers/retry.ts'
import { redactor, requireHost, SecretRefused, type Secrets } from '../../runtime/tools/fill-secrets.ts'
import type { GuardedFetch } from '../../security/outgoing/guarded-client.ts'
import { GuardedFetchError } from '../../security/outgoing/guarded-error.ts'
import { InvalidApiKey, MAIL_PROVIDERS } from '../mail/mail-providers.ts'
import type { Trigger } from '../trigger.ts'
import type { BotAccess, CallVerdict, Channel, ChannelKind, PlatformCall } from './channel.ts'
import { email } from './email.ts'
import { slack } from './slack.ts'
import { InvalidToken, telegram } from './telegram.ts'

export const CHANNELS: Readonly<Record<ChannelKind, Channel>> = { slack, telegram, email }

/** Replies repeat the whole message with all its blocks. */
const MAX_REPLY_BYTES = 1024 * 1024

/** What a channel's trigger calls, and the name of the secret with its token. */
export function settingsOf(
  trigger: Pick<Trigger, 'kind' | ChannelKind>,
): { kind: ChannelKind; bot_token: string; api_url: string; mail?: BotAccess['mail'] } | undefined {
  const { kind } = trigger
  if (kind === 'webhook') return undefined
  if (kind === 'email') {
    const { email: mail } = trigger
    const api_url = mail?.api_url ?? (mail && MAIL_PROVIDERS[mail.provider].api_url)
    return mail && api_url ? { kind, bot_token: mail.api_key, api_url, mail } : undefined
  }
  const settings = trigger[kind]
  return settings ? { kind, ...settings } : undefined
}

/** The calls to make, one after the other. */
export type CallsOf = (channel: Channel, access: BotAccess) => readonly PlatformCall[]

type CallOptions = {
  /** `webhooks.attemptTimeout` is the time limit for the whole reply. */
  config: Pick<Parts['config'], 'webhooks'>
  fetch: GuardedFetch
  secrets: Secrets
  now: () => number
  signal: AbortSignal
}

/**
 * Makes calls to a trigger's platform. Returns whether the last one was accepted; no text in it contains the token.
 * Throws only if the signal aborts before the platform has replied.
 */
export async function callPlatform(
  trigger: Trigger,
  callsOf: CallsOf,
  { config, fetch, secrets, now, signal }: CallOptions,
): Promise<CallVerdict> {
  const settings = settingsOf(trigger)
  if (!settings) return { error: 'The trigger has no conversations.', retry_after_ms: 0, isFinal: true }
  const { kind, bot_token, api_url, mail } = settings
  const failed = (error: string): CallVerdict => ({ error, retry_after_ms: 0, isFinal: false })
  const secret = Object.hasOwn(secrets, bot_token) ? secrets[bot_token] : undefined
  if (!secret) return failed(`The secret ${bot_token} doesn't exist.`)
  try {
    requireHost(`secret ${bot_token}`, secret, new URL(api_url))
    let verdict: CallVerdict = 'accepted'
    for (const { url, headers, body } of callsOf(CHANNELS[kind], { api_url, token: secret.value, mail })) {
      const response = await fetch(url, {
        method: 'POST',
        headers,
        body: wellFormedJson(body),
        redirect: 'manual',
        timeout_ms: config.webhooks.attemptTimeout,
        max_bytes: MAX_REPLY_BYTES,
        owner: trigger.agent_id,
        signal,
      })
      const retry_after_ms = retryAfter(Object.fromEntries(response.headers), now) ?? 0
      const text = await textOf(response)
      // The platform has the message. Sent again, it would be shown twice.
      if (text === undefined && response.ok) verdict = 'accepted'
      else verdict = CHANNELS[kind].judge({ status: response.status, body: parsed(text ?? ''), retry_after_ms })
    }
    if (verdict === 'accepted') return verdict
    return { ...verdict, error: redactor({ [bot_token]: secret.value })(verdict.error) }
  } catch (error) {
    if (error instanceof SecretRefused) return failed(`${error.message}.`)
    if (error instanceof InvalidApiKey) return failed(`The secret ${bot_token} doesn't contain an API key.`)
    if (error instanceof InvalidToken) return failed(`The secret ${bot_token} doesn't contain a bot's token.`)
    // The message of any other error could contain the URL.
    if (!(error instanceof GuardedFetchError)) return failed('The call failed.')
    if (error.code === 'aborted') throw error
    return failed(`${error.message}.`)
  }
}

/** Undefined if the body is too long or doesn't arrive completely. */
async function textOf(response: Response): Promise<string | undefined> {
  try {
    return await response.text()
  } catch {
    return undefined
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
