import { sha256 } from '../../security/digest.ts'
import { ADDRESS, Mail } from '../mail/mail.ts'
import { sendingCall } from '../mail/mail-providers.ts'
import { isProven } from '../mail/sender-proof.ts'
import type { Payload } from '../receive/payload.ts'
import type { Trigger } from '../trigger.ts'
import type { CallVerdict, Channel, ChatMessage, IgnoredMessage, PlatformReply } from './channel.ts'

const LONGEST = 200_000
/** Mail programs find a thread by its first message and by its latest ones. */
const MOST_REFERENCES = 20

/** Headers of mail that programs send. Answering it could go on forever. */
const AUTOMATIC: Readonly<Record<string, RegExp>> = {
  'auto-submitted': /^(?!no\b)/i,
  precedence: /^(?:bulk|junk|list|auto_reply)/i,
  'x-auto-response-suppress': /./,
  'x-autoreply': /^(?!no\b)/i,
  'x-autorespond': /./,
  'x-loop': /./,
  'return-path': /^<>$/,
  'content-type': /^multipart\/report\b/i,
}
const ROBOT = /^(?:mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?)(?:[+=-].*)?@/

/** The final errors of providers: the message itself is wrong. Others may be temporary, or the operator can fix them. */
const FINAL_STATUS: ReadonlySet<number> = new Set([400, 413, 422])

export const email: Channel = {
  hasButtons: false,
  read: readMessage,
  split: (text) => (text.trim() === '' ? [] : [text.trim().slice(0, LONGEST)]),
  post({ api_url, token, mail: settings }, { to, subject, in_reply_to, references }, { id, text }) {
    if (!settings || typeof to !== 'string' || !ADDRESS.test(to)) throw new Error('not a place for mail')
    const { address, name, provider } = settings
    const before = Array.isArray(references) ? references.join(' ') : ''
    return sendingCall(
      { provider, api_url, token },
      {
        id,
        from: { address, name },
        to,
        subject: String(subject),
        text,
        headers: {
          ...(in_reply_to ? { 'In-Reply-To': String(in_reply_to), References: before } : {}),
          // Other programs must not answer it (RFC 3834).
          'Auto-Submitted': 'auto-replied',
        },
      },
    )
  },
  readPress: () => undefined,
  settle: () => [],
  typing: () => undefined,
  judge: judgeProvider,
}

const ignored = (code: string, reason: string): IgnoredMessage => ({ ignored: { code, reason } })

function readMessage({ body }: Payload, { email: settings }: Pick<Trigger, 'email'>): ChatMessage | IgnoredMessage {
  const { data } = Mail.safeParse(body)
  if (!data || !settings) return ignored('no_mail', 'The payload is not a message.')
  const { from, subject, message_id, references, attachments } = data
  if (!from || !ADDRESS.test(from.address)) return ignored('no_sender', "The message doesn't have exactly one sender.")
  const user = from.address.toLowerCase()
  if (user === settings.address.toLowerCase()) return ignored('own_address', "The sender is the trigger's own address.")
  if (isAutomatic(data, user)) return ignored('automatic', 'A program has sent the message.')
  const { authserv_id } = settings
  if (authserv_id !== null && !isProven(data.authentication_results, authserv_id, user)) {
    // The listing shows the reason, and erasing a user doesn't find it. So it doesn't contain the address.
    return ignored('unproven_sender', `${authserv_id} has not confirmed who has sent the message.`)
  }
  const id = message_id || data.sha256
  const key = sha256(`thread ${references[0] ?? id}`).slice(0, 32)
  const text = data.text || (attachments.length > 0 ? '[No text]' : '')
  const isReply = references.length > 0
  const thread = isReply ? [...references, message_id].filter(Boolean) : [message_id].filter(Boolean)
  return {
    // A reply has the subject of its thread.
    text: isReply || subject === '' || text === '' ? text || subject : `${subject}\n\n${text}`,
    // Everybody can write any sender into a message. Without a proof, a sender is another user in each thread.
    user: authserv_id === null ? `unverified/${sha256(`${key} ${user}`).slice(0, 32)}` : user,
    sender: user,
    conversation: {
      key,
      place: {
        to: user,
        subject: /^re:/i.test(subject) ? subject : `Re: ${subject}`.trim(),
        in_reply_to: message_id,
        references: [...thread.slice(0, 1), ...thread.slice(1).slice(-MOST_REFERENCES)],
      },
    },
    event: `${id} ${user}`,
  }
}

function isAutomatic({ headers }: Mail, user: string): boolean {
  if (ROBOT.test(user)) return true
  return Object.entries(headers).some(([name, value]) => {
    if (name.startsWith('list-')) return true
    return Object.hasOwn(AUTOMATIC, name) && AUTOMATIC[name]?.test(value.trim())
  })
}

function judgeProvider({ status, body, retry_after_ms }: PlatformReply): CallVerdict {
  if (status >= 200 && status < 300) return 'accepted'
  const { Message, message, errors } = (body ?? {}) as Record<string, unknown>
  const [first] = Array.isArray(errors) ? (errors as { message?: unknown }[]) : []
  const said = [Message, message, first?.message].find((text) => typeof text === 'string')
  const error = said === undefined ? `HTTP ${status}` : `HTTP ${status}: ${String(said).slice(0, 200)}`
  return { error, retry_after_ms, isFinal: FINAL_STATUS.has(status) }
}
