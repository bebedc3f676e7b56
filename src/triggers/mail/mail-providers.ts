/** A message to send. `id` names it, however often it is sent. */
export type OutgoingMail = {
  id: string
  from: { address: string; name: string | null }
  to: string
  subject: string
  text: string
  /** With names as they are written in a message. */
  headers: Readonly<Record<string, string>>
}

/** A provider of mail with an API over HTTP. */
type MailProvider = {
  api_url: string
  call(mail: OutgoingMail, token: string): { path: string; headers: Readonly<Record<string, string>>; body: object }
}

const mailbox = ({ address, name }: OutgoingMail['from']) =>
  name === null ? address : `"${name.replaceAll(/["\\]/g, '')}" <${address}>`
const messageId = ({ id, from }: OutgoingMail) => `<${id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`

/** https://postmarkapp.com/developer/api/email-api */
const postmark: MailProvider = {
  api_url: 'https://api.postmarkapp.com',
  call: (mail, token) => ({
    path: '/email',
    headers: { 'X-Postmark-Server-Token': token, Accept: 'application/json' },
    body: {
      From: mailbox(mail.from),
      To: mail.to,
      Subject: mail.subject,
      TextBody: mail.text,
      // Mail servers that get a message twice recognize it by its ID.
      Headers: Object.entries({ ...mail.headers, 'Message-ID': messageId(mail), 'X-PM-KeepID': 'true' }).map(
        ([Name, Value]) => ({ Name, Value }),
      ),
    },
  }),
}

/** https://resend.com/docs/api-reference/emails/send-email. It recognizes a repeated call by its key for a day. */
const resend: MailProvider = {
  api_url: 'https://api.resend.com',
  call: (mail, token) => ({
    path: '/emails',
    headers: { Authorization: `Bearer ${token}`, 'Idempotency-Key': mail.id },
    body: {
      from: mailbox(mail.from),
      to: [mail.to],
      subject: mail.subject,
      text: mail.text,
      headers: mail.headers,
    },
  }),
}

/** https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send */
const sendgrid: MailProvider = {
  api_url: 'https://api.sendgrid.com',
  call: (mail, token) => ({
    path: '/v3/mail/send',
    headers: { Authorization: `Bearer ${token}` },
    body: {
      personalizations: [{ to: [{ email: mail.to }] }],
      from: { email: mail.from.address, ...(mail.from.name !== null && { name: mail.from.name }) },
      subject: mail.subject,
      content: [{ type: 'text/plain', value: mail.text }],
      headers: { ...mail.headers, 'Message-ID': messageId(mail) },
    },
  }),
}

export const MAIL_PROVIDERS = { postmark, resend, sendgrid } as const satisfies Record<string, MailProvider>
export type MailProviderName = keyof typeof MAIL_PROVIDERS

export class InvalidApiKey extends Error {}

export function sendingCall(
  { provider, api_url, token }: { provider: MailProviderName; api_url: string; token: string },
  mail: OutgoingMail,
): { url: string; headers: Readonly<Record<string, string>>; body: object } {
  if (!/^[\x21-\x7e]{1,500}$/.test(token)) throw new InvalidApiKey()
  const { path, headers, body } = MAIL_PROVIDERS[provider].call(mail, token)
  return { url: api_url + path, headers: { ...headers, 'Content-Type': 'application/json' }, body }
}
