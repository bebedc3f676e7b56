import type { Trigger, Verification } from './trigger.ts'

type ExampleEvent = { headers: Readonly<Record<string, string>>; payload: Readonly<Record<string, unknown>> }

const GITHUB: ExampleEvent = {
  headers: { 'x-github-event': 'issues', 'x-github-delivery': '72d3162e-cc78-11e3-81ab-4c9367dc0958' },
  payload: {
    action: 'opened',
    issue: {
      number: 17,
      title: 'The harbour map is upside down',
      body: 'Since yesterday, north is at the bottom.',
      html_url: 'https://github.com/octo-org/harbour/issues/17',
      user: { login: 'octocat' },
      labels: [{ name: 'bug' }],
    },
    repository: { full_name: 'octo-org/harbour' },
    sender: { login: 'octocat', type: 'User' },
  },
}

const STRIPE: ExampleEvent = {
  headers: {},
  payload: {
    id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
    object: 'event',
    type: 'invoice.payment_failed',
    created: 1_686_089_970,
    data: {
      object: { id: 'in_1MtHbE', object: 'invoice', customer: 'cus_NeZw0z', amount_due: 2_500, currency: 'eur' },
    },
  },
}

const SLACK: ExampleEvent = {
  headers: {},
  payload: {
    type: 'event_callback',
    team_id: 'T0001',
    event_id: 'Ev0PV52K21',
    event: {
      type: 'app_mention',
      user: 'U061F7AUR',
      text: '<@U0LAN0Z89> is the tide in?',
      ts: '1515449522.000016',
      channel: 'C123ABC456',
    },
  },
}

const TELEGRAM: ExampleEvent = {
  headers: {},
  payload: {
    update_id: 10_000,
    message: {
      message_id: 1365,
      date: 1_441_645_532,
      chat: { id: 1_111_111, type: 'private', first_name: 'Ann' },
      from: { id: 1_111_111, is_bot: false, first_name: 'Ann', username: 'ann' },
      text: 'Is the tide in?',
    },
  },
}

const STANDARD: ExampleEvent = {
  headers: { 'webhook-id': 'msg_2KWPBgLlAfxdpx2AI54pPJ85f4W', 'webhook-timestamp': '1674087231' },
  payload: { type: 'contact.created', timestamp: '2022-11-03T20:26:10Z', data: { id: '1f81eb52', name: 'Ann' } },
}

const OTHER: ExampleEvent = { headers: {}, payload: { id: '1', type: 'example', user: 'ann', text: 'Is the tide in?' } }

/** What a message to a trigger for mail becomes. */
const EMAIL: ExampleEvent = {
  headers: {},
  payload: {
    from: { address: 'ann@example.com', name: 'Ann' },
    to: ['help@example.org'],
    subject: 'The tide',
    text: 'Is the tide in?',
    message_id: '<1ac3b7@example.com>',
    references: [],
    authentication_results: [],
    headers: { subject: 'The tide' },
    attachments: [],
    sha256: '0',
  },
}

const EXAMPLES: Readonly<Record<Verification['scheme'], ExampleEvent>> = {
  github: GITHUB,
  stripe: STRIPE,
  slack: SLACK,
  telegram: TELEGRAM,
  standard: STANDARD,
  hmac: OTHER,
  ed25519: OTHER,
  bearer: OTHER,
  basic: OTHER,
  none: OTHER,
}

/** An example of what the trigger's sender posts. For mail, the proof of its sender is part of it. */
export function exampleFor({ kind, verify, email }: Pick<Trigger, 'email' | 'kind' | 'verify'>): ExampleEvent {
  if (kind !== 'email') return EXAMPLES[verify.scheme]
  const proof = email?.authserv_id ? [`${email.authserv_id}; dmarc=pass header.from=example.com`] : []
  return { ...EMAIL, payload: { ...EMAIL.payload, authentication_results: proof } }
}
