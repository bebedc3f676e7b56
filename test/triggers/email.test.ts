import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { textOfHtml, withoutQuotes } from '../../src/triggers/mail/mail-text.ts'
import { isProven } from '../../src/triggers/mail/sender-proof.ts'
import { fieldsOf } from '../support/clients/refusal.ts'
import { rowsOf } from '../support/inside.ts'
import { type ChatPlatform, type PlatformRequest, refuse, startChatPlatform } from '../support/outside/chat-platform.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { PATIENCE } from '../support/running/patience.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { createTrigger, type MadeTrigger } from '../support/slices/triggers.ts'

const INBOUND = 'harbour:inbound-password'
const API_KEY = 'pm-server-token-1'
const HOST = 'mx.example.org'
const HOUR_MS = 3_600_000
const BASIC = { Authorization: `Basic ${Buffer.from(INBOUND).toString('base64')}` }

let ids = 0
const nextId = () => `<mail-${++ids}@example.com>`

/** A message as a mail server has it. Fields without a value are left out. */
function mail(text: string, fields: Record<string, string | undefined> = {}): string {
  const headers = {
    From: 'Ann <ann@example.com>',
    To: 'help@example.org',
    Subject: 'The tide',
    'Message-ID': nextId(),
    ...fields,
  }
  const lines = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${value}`))
  return `${lines.join('\r\n')}\r\n\r\n${text.replaceAll('\n', '\r\n')}`
}

const mixed = (...parts: string[]) => ({
  type: 'multipart/mixed; boundary=xx',
  body: `${parts.map((part) => `--xx\n${part}\n`).join('')}--xx--`,
})

const ATTACHED = mixed(
  'Content-Type: text/plain\n\nSee the chart.\n\nOn Mon, 1 Jan 2026 at 10:00, Help <help@example.org> wrote:\n> Old text',
  `Content-Type: text/csv; name="../../tide\r\n .csv"\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\n${Buffer.from('hour,metres\n1,2\n').toString('base64')}`,
  'Content-Type: application/pgp-signature\n\nxyz',
)

onAnyEngine(
  'email',
  (service) => {
    let provider: ChatPlatform
    before(async () => {
      provider = await startChatPlatform()
      const secrets = { INBOUND, API_KEY, SPACES: 'x y' }
      for (const [name, value] of Object.entries(secrets)) {
        await ok('PUT', `/v1/secrets/${name}`, { body: { value, hosts: [provider.host] } })
      }
    })
    after(() => provider.close())

    const ok = async (method: string, path: string, options: object = {}) => {
      const reply = await service().call(method, path, options)
      assert.ok(reply.status < 300, `${method} ${path} ${reply.text}`)
      return reply.body.data
    }
    const fieldsFor = (email: object = {}, more: object = {}) => ({
      kind: 'email',
      message: undefined,
      verify: { scheme: 'basic', secret: 'INBOUND' },
      email: {
        address: 'help@example.org',
        name: 'Harbour "help"',
        provider: 'postmark',
        api_key: 'API_KEY',
        api_url: provider.url,
        ...email,
      },
      ...more,
    })
    const says = (reply: string) => ({ model: 'builtin/script', script: { rules: [{ reply }] } })
    type Made = MadeTrigger & { agent_id: string; path: string }
    const made = async (email: object = {}, agent: object = says('Aye.'), more: object = {}): Promise<Made> => {
      provider.mood()
      const agent_id = await newAgent(service(), agent)
      const trigger = await createTrigger(service(), agent_id, fieldsFor(email, more))
      return { ...trigger, agent_id, path: `/v1/agents/${agent_id}/triggers/${trigger.id}` }
    }
    const send = async ({ address }: Made, body: string | FormData, type?: string, headers: object = BASIC) => {
      const typed = type === undefined ? {} : { 'Content-Type': type }
      const response = await fetch(service().url + address, { method: 'POST', headers: { ...headers, ...typed }, body })
      const text = await response.text()
      return { status: response.status, text, body: JSON.parse(text) }
    }
    const sendRaw = (trigger: Made, raw: string) => send(trigger, raw, 'message/rfc822')
    const runOf = ({ agent_id }: Made, { body }: { body: { data: { request_id: string } } }) =>
      ok('GET', `/v1/agents/${agent_id}/invocations/${body.data.request_id}`)
    const deliveries = ({ path }: Made) => ok('GET', `${path}/deliveries?sort=created_at&limit=100`)
    const isAnswered = (trigger: Made) =>
      until('all are answered', async () => {
        const all = await deliveries(trigger)
        const accepted = all.filter(({ outcome }: { outcome: string }) => outcome === 'accepted')
        return accepted.every((one: { answer?: { status: string } }) => one.answer?.status === 'sent') ? all : undefined
      })
    const posted = (from: number) => provider.asked.slice(from)

    test('a message starts a run with its files, and the answer goes once into the thread', async () => {
      const trigger = await made()
      const [first, from] = [nextId(), provider.asked.length]
      const { type, body } = ATTACHED
      const raw = mail(body, { 'Message-ID': first, 'Content-Type': type, Subject: '=?utf-8?q?The_t=C3=ADde?=' })
      // Postmark sends JSON.
      const sent = await send(trigger, JSON.stringify({ Subject: 'x', RawEmail: raw }), 'application/json')
      assert.equal(sent.status, 202, sent.text)
      const run = await runOf(trigger, sent)
      assert.equal(run.message, 'The tíde\n\nSee the chart.')
      assert.match(run.context.user_id, /^email:unverified\/[0-9a-f]{32}$/)
      const [file, ...others] = run.attachments
      assert.deepEqual([others, file.name, file.media_type, file.size], [[], '.._.._tide .csv', 'text/csv', 16])
      await isAnswered(trigger)
      const [answer, ...more] = posted(from)
      assert.deepEqual([more, answer?.method, answer?.token], [[], 'email', API_KEY])
      const { Headers, ...fields } = (answer as PlatformRequest).body as { Headers: { Name: string; Value: string }[] }
      assert.deepEqual(fields, {
        From: '"Harbour help" <help@example.org>',
        To: 'ann@example.com',
        Subject: 'Re: The tíde',
        TextBody: 'Aye.',
      })
      const { 'Message-ID': own, ...headers } = Object.fromEntries(Headers.map(({ Name, Value }) => [Name, Value]))
      assert.match(own ?? '', /^<ans_[0-9A-Z]{26}\.0@example\.org>$/)
      const threaded = { 'In-Reply-To': first, References: first, 'Auto-Submitted': 'auto-replied' }
      assert.deepEqual(headers, { ...threaded, 'X-PM-KeepID': 'true' })

      assert.equal((await sendRaw(trigger, raw)).body.data.repeated, true)
      const reply = { 'In-Reply-To': own, References: `${first} ${own}`, Subject: 'Re: The tíde' }
      const second = await sendRaw(trigger, mail('And now?\n\n> Aye.', reply))
      const stranger = await sendRaw(trigger, mail('Me too!', { ...reply, From: 'eve@example.net' }))
      const runs = [run, await runOf(trigger, second), await runOf(trigger, stranger)]
      assert.equal(runs[1].message, 'And now?')
      assert.equal(new Set(runs.map(({ context }) => context.session_id)).size, 1)
      assert.deepEqual(
        [runs[1].context.user_id === runs[0].context.user_id, runs[2].context.user_id],
        [true, runs[2].context.user_id],
      )
      assert.notEqual(runs[2].context.user_id, runs[0].context.user_id)
      const other = await runOf(trigger, await sendRaw(trigger, mail('Another thread')))
      assert.notEqual(other.context.user_id, runs[0].context.user_id)
      await isAnswered(trigger)
      assert.equal(posted(from).length, 4)
      const stored = await Promise.all(
        (['triggers', 'chat_answers', 'incoming_deliveries'] as const).map((table) => rowsOf(service(), table)),
      )
      for (const secret of [API_KEY, INBOUND, BASIC.Authorization]) {
        assert.ok(!JSON.stringify(stored).includes(secret) && !service().log().includes(secret))
      }
    })

    test('Resend and SendGrid, with a bearer token and a form', async () => {
      const bearer = { verify: { scheme: 'bearer', secret: 'API_KEY' } }
      const [resend, sendgrid] = [
        await made({ provider: 'resend', name: null }, undefined, bearer),
        await made({ provider: 'sendgrid' }),
      ]
      const [from, id] = [provider.asked.length, nextId()]
      const raw = mail('Hi', { 'Message-ID': id, Subject: 'Re: x' })
      const form = new FormData()
      form.set('to', 'help@example.org')
      form.set('email', raw)
      const key = { Authorization: `Bearer ${API_KEY}` }
      const sent = [await send(resend, raw, 'message/rfc822', key), await send(sendgrid, form)]
      assert.deepEqual(
        sent.map(({ status }) => status),
        [202, 202],
        JSON.stringify(sent),
      )
      await isAnswered(resend)
      await isAnswered(sendgrid)
      const [a, b] = posted(from).toSorted((x, y) => x.method.localeCompare(y.method))
      const headers = { 'In-Reply-To': id, References: id, 'Auto-Submitted': 'auto-replied' }
      const to = 'ann@example.com'
      const text = { subject: 'Re: x', text: 'Aye.' }
      assert.deepEqual(a?.body, { from: 'help@example.org', to: [to], ...text, headers })
      assert.match(a?.key ?? '', /^ans_[0-9A-Z]{26}\.0$/)
      const { 'Message-ID': _own, ...others } = (b as PlatformRequest).body.headers
      assert.deepEqual(
        [b?.method, b?.body.personalizations, b?.body.content[0].value, others],
        ['send', [{ to: [{ email: to }] }], 'Aye.', headers],
      )
      const wrong = await send(resend, raw, 'message/rfc822', { Authorization: 'Bearer x' })
      assert.deepEqual([wrong.status, (await send(sendgrid, form, undefined, {})).status], [401, 401])
    })

    test('only what the trusted mail server has proven becomes a user; programs and loops get no answer', async () => {
      const trigger = await made({ authserv_id: HOST })
      const from = provider.asked.length
      const proof = `${HOST}; spf=pass smtp.mailfrom=ann@example.com; dmarc=pass (p=reject) header.from=example.com`
      const proven = { 'Authentication-Results': proof }
      const good = await sendRaw(
        trigger,
        mail('Hi', { ...proven, From: '"Harbour, \\"<Ann>\\"" (work) <ann@example.com>' }),
      )
      assert.equal((await runOf(trigger, good)).context.user_id, 'email:ann@example.com')
      const forged: [string, Record<string, string | undefined>][] = [
        ['unproven_sender', {}],
        ['unproven_sender', { 'Authentication-Results': proof.replace(HOST, 'mx.evil.example') }],
        ['unproven_sender', { 'Authentication-Results': proof.replace('dmarc=pass', 'dmarc=fail') }],
        ['unproven_sender', { ...proven, From: 'ann@bank.example' }],
        [
          'unproven_sender',
          {
            'Authentication-Results': `${HOST}; spf=fail smtp.mailfrom="; dmarc=pass header.from=example.com"@evil.example`,
          },
        ],
        ['unproven_sender', { 'Authentication-Results': `${HOST}; none\r\nAuthentication-Results: ${proof}` }],
        ['no_sender', { ...proven, From: 'ann@example.com, bob@example.com' }],
        ['no_sender', { ...proven, From: `eve@example.com\r\nFrom: ann@example.com` }],
        ['no_sender', { ...proven, From: '<ann@example.com> <eve@example.com>' }],
        ['no_sender', { ...proven, From: 'ann@example.com(<eve@example.com>)' }],
        ['no_sender', { ...proven, From: 'eve@example.com ann@example.com' }],
        ['no_sender', { ...proven, From: '"ann@example.com"' }],
        ['no_sender', { ...proven, From: '=?utf-8?q?ann=40example=2Ecom?=' }],
        ['own_address', { ...proven, From: 'HELP@example.org' }],
        ['automatic', { ...proven, 'Auto-Submitted': 'auto-replied' }],
        ['automatic', { ...proven, Precedence: 'bulk' }],
        ['automatic', { ...proven, 'List-Unsubscribe': '<mailto:x@example.com>' }],
        ['automatic', { ...proven, 'Return-Path': '<>' }],
        ['automatic', { ...proven, From: 'MAILER-DAEMON@example.com' }],
        ['automatic', { ...proven, 'Content-Type': 'multipart/report; boundary=x' }],
      ]
      for (const [, fields] of forged) {
        const reply = await sendRaw(trigger, mail('Hi', fields))
        assert.deepEqual([reply.status, reply.body.data.ignored], [200, true], JSON.stringify(fields))
      }
      const [, ...ignored] = await deliveries(trigger)
      assert.deepEqual(
        ignored.map(({ outcome, code }: { outcome: string; code: string }) => [outcome, code]),
        forged.map(([code]) => ['filtered', code]),
      )
      assert.ok(!JSON.stringify(ignored).includes('ann@'), 'nothing of an ignored message is stored')
      const replies = await Promise.all(Array.from({ length: 22 }, () => sendRaw(trigger, mail('Loop', proven))))
      assert.equal(replies.filter(({ status }) => status === 202).length, 19)
      assert.ok((await deliveries(trigger)).some(({ code }: { code: string }) => code === 'too_many'))
      await isAnswered(trigger)
      assert.equal(posted(from).length, 20)
    })

    test('hostile and broken messages harm nobody, and those that cannot be read are listed as failed', async () => {
      const trigger = await made()
      const from = provider.asked.length
      const injected = '=?utf-8?q?x=0D=0ABcc=3A_eve=40example=2Enet?='
      const sent = await sendRaw(
        trigger,
        mail('<p>Hi &lt;b&gt;</p><style>x{}</style>', {
          Subject: injected,
          'Content-Type': 'text/html; charset=x-none',
        }),
      )
      assert.equal((await runOf(trigger, sent)).message, 'x Bcc: eve@example.net\n\nHi <b>')
      await isAnswered(trigger)
      assert.equal(posted(from)[0]?.body.Subject, 'Re: x Bcc: eve@example.net')
      const deep = Array.from({ length: 60 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\n\n--b${i}\n`)
      const unreadable: [string, string][] = [
        [mail('').trimEnd().concat('\r\n', deep.join('')), 'message/rfc822'],
        [mail('\n'.repeat(60_000)), 'message/rfc822'],
        [mail('hi', { 'X-Long': 'x'.repeat(300_000) }), 'message/rfc822'],
        ['{"text": "no message"}', 'application/json'],
        ['{"raw', 'application/json'],
        ['--y\r\n', 'multipart/form-data; boundary=x'],
        ['x', 'image/png'],
      ]
      for (const [body, type] of unreadable) assert.equal((await send(trigger, body, type)).status, 400, type)
      const listed = (await deliveries(trigger)).slice(1)
      assert.deepEqual(
        listed.map(({ outcome, code }: { outcome: string; code: string }) => [outcome, code]),
        unreadable.map(() => ['failed', 'invalid_request']),
      )
      assert.equal((await send(trigger, 'x'.repeat(1_100_000), 'message/rfc822')).status, 413)

      // A message is read in a thread, so nobody else waits for it.
      const line = `${Buffer.alloc(57, 7).toString('base64')}\n`
      const { type, body } = mixed(
        'Content-Type: text/plain\n\nbig',
        `Content-Type: application/zip; name=bomb.zip\nContent-Transfer-Encoding: base64\n\n${line.repeat(13_000)}`,
      )
      const large = mail(body, { 'Content-Type': type })
      const start = process.threadCpuUsage()
      const big = await sendRaw(trigger, large)
      const { user, system } = process.threadCpuUsage(start)
      assert.ok(user + system < 250_000, `this thread worked for ${(user + system) / 1000} ms`)
      const [{ name, size }] = (await runOf(trigger, big)).attachments
      assert.deepEqual([name, size], ['bomb.zip', 57 * 13_000])
    })

    test('a provider that refuses gets the answer once, later; one that never accepts it gets it once', async () => {
      const trigger = await made()
      const from = provider.asked.length
      provider.mood(refuse(503, { Message: 'down' }, { 'Retry-After': '1800' }))
      await sendRaw(trigger, mail('Hi'))
      for (const tries of [1, 2]) {
        const { answer } = await until('it was tried', async () => {
          const [one] = await deliveries(trigger)
          return one.answer?.next_attempt_at && one.answer.tries === tries ? one : undefined
        })
        assert.equal(answer.error, 'HTTP 503: down')
        const rest = Date.parse(answer.next_attempt_at) - service().now()
        assert.ok(rest > 1_700_000, 'it waits as long as the provider asked')
        if (tries === 2) provider.mood()
        else service().advance(rest)
      }
      const shown = provider.shown().length
      service().advance(HOUR_MS)
      await isAnswered(trigger)
      assert.equal(provider.shown().length, shown + 1)
      const ofAll = posted(from).map(({ body }) => JSON.stringify(body))
      assert.equal(new Set(ofAll).size, 1, 'a mail server that gets it twice recognizes its ID')

      provider.mood(refuse(422, { ErrorCode: 406, Message: 'Inactive recipient' }))
      await sendRaw(trigger, mail('Hi'))
      const [, { answer }] = await until('it has failed', async () => {
        const all = await deliveries(trigger)
        return all[1]?.answer?.status === 'failed' ? all : undefined
      })
      assert.deepEqual([answer.tries, answer.error], [1, 'HTTP 422: Inactive recipient'])
    })

    test('the next message in the thread answers what the agent asks', async () => {
      const question = { question: 'Which berth?', options: ['Six', 'Seven'] }
      const rules = [{ call: { tool: 'ask_person', arguments: question }, reply: '{{result}}' }]
      const asking = { model: 'builtin/script', tools: [{ type: 'ask_person' }], script: { rules } }
      const trigger = await made({}, { ...asking, approvals: { self: true } })
      const [id, known] = [nextId(), provider.shown().length]
      const first = await sendRaw(trigger, mail('Moor', { 'Message-ID': id }))
      const asked = await until('it asks', () => provider.shown()[known])
      assert.equal(asked, 'Which berth?\n- Six\n- Seven')
      const answered = await sendRaw(trigger, mail('Seven\n\n> Which berth?', { 'In-Reply-To': id }))
      assert.deepEqual([answered.status, answered.body.data.request_id], [202, first.body.data.request_id])
      assert.equal(await until('it answers', () => provider.shown()[known + 1]), 'Seven')
    })

    test('an answer to a question names the files that the agent does not get', async () => {
      const rules = [{ call: { tool: 'ask_person', arguments: { question: 'Which berth?' } }, reply: '{{result}}' }]
      const asking = { model: 'builtin/script', tools: [{ type: 'ask_person' }], script: { rules } }
      const trigger = await made({}, { ...asking, approvals: { self: true } })
      const [id, known] = [nextId(), provider.shown().length]
      await sendRaw(trigger, mail('Moor', { 'Message-ID': id }))
      await until('it asks', () => provider.shown()[known])
      const { type, body } = mixed(
        'Content-Type: text/plain\n\nAs on the plan.',
        'Content-Type: text/plain; name="plan.txt"\nContent-Disposition: attachment\n\nsix',
      )
      await sendRaw(trigger, mail(body, { 'In-Reply-To': id, 'Content-Type': type }))
      const told = "As on the plan.\n\n[Left out, because an answer can't have files: plan.txt]"
      assert.equal(await until('it answers', () => provider.shown()[known + 1]), told)
    })

    test('a message that was written before a question arrived does not answer it', async () => {
      const rules = [{ call: { tool: 'ask_person', arguments: { question: 'Delete it?' } }, reply: '{{result}}' }]
      const asking = { model: 'builtin/script', tools: [{ type: 'ask_person' }], script: { rules } }
      const trigger = await made({}, { ...asking, approvals: { self: true } })
      const id = nextId()
      provider.mood(refuse(503, { Message: 'down' }, { 'Retry-After': '1800' }))
      const first = await sendRaw(trigger, mail('Moor', { 'Message-ID': id }))
      const row = () =>
        rowsOf(service(), 'chat_answers').then((rows) => rows.find(({ trigger_id }) => trigger_id === trigger.id))
      await until('the question was refused', async () => (await row())?.tries === 1)
      const second = await sendRaw(trigger, mail('Yes, thanks!', { 'In-Reply-To': id }))
      assert.notEqual(second.body.data.request_id, first.body.data.request_id)
      provider.mood()
      service().advance(HOUR_MS)
      await until('it asks', async () => (await row())?.status === 'sent')
      const third = await sendRaw(trigger, mail('Yes', { 'In-Reply-To': id }))
      assert.equal(third.body.data.request_id, first.body.data.request_id)
      const silent = await made({}, { ...asking, approvals: { self: true } }, { reply: false })
      const thread = nextId()
      const unasked = await sendRaw(silent, mail('Moor', { 'Message-ID': thread }))
      await until('it waits', async () => (await runOf(silent, unasked)).status === 'waiting')
      const next = await sendRaw(silent, mail('Hello?', { 'In-Reply-To': thread }))
      assert.notEqual(next.body.data.request_id, unasked.body.data.request_id)
    })

    test('a message that could start no run is erased with its user', async () => {
      const trigger = await made()
      await ok('PATCH', `/v1/agents/${trigger.agent_id}`, { body: { status: 'paused' } })
      assert.equal((await sendRaw(trigger, mail('My secret berth'))).status, 409)
      const [{ outcome, user_id }] = await deliveries(trigger)
      assert.equal(outcome, 'failed')
      assert.match(user_id, /^email:unverified\/[0-9a-f]{32}$/)
      await ok('DELETE', `/v1/users/${encodeURIComponent(user_id)}`)
      const rows = await rowsOf(service(), 'incoming_deliveries')
      assert.ok(!JSON.stringify(rows).includes('My secret berth'))
    })

    test('a message that could start no run does not count when its sender sends too many', async () => {
      const trigger = await made({ authserv_id: null }, says('Aye.'), { reply: false })
      const agent = `/v1/agents/${trigger.agent_id}`
      const again = mail('Is the harbour open?')
      await ok('PATCH', agent, { body: { status: 'paused' } })
      for (let i = 0; i < 25; i++) assert.equal((await sendRaw(trigger, again)).status, 409)
      await ok('PATCH', agent, { body: { status: 'running' } })
      assert.equal((await sendRaw(trigger, again)).status, 202)
    })

    test('a client without a password is asked for one', async () => {
      const { address } = await made()
      const { status, headers } = await fetch(service().url + address, { method: 'POST', body: mail('Hi') })
      assert.deepEqual([status, headers.get('WWW-Authenticate')], [401, 'Basic realm="trigger"'])
    })

    test('a message can be tested and replayed, and wrong settings are refused', async () => {
      const trigger = await made({ authserv_id: HOST })
      const tested = await ok('POST', `${trigger.path}/test`, { body: {} })
      assert.deepEqual(
        [tested.outcome, tested.message, tested.user_id],
        ['accepted', 'The tide\n\nIs the tide in?', 'email:ann@example.com'],
      )
      const plain = await made()
      await sendRaw(plain, mail('Again'))
      const [{ id }] = await isAnswered(plain)
      const replayed = await ok('POST', `${plain.path}/deliveries/${id}/replay`)
      assert.equal((await runOf(plain, { body: { data: replayed } })).message, 'The tide\n\nAgain')
      const { email } = fieldsFor()
      await ok('PATCH', plain.path, { body: { email: { ...email, authserv_id: HOST } } })
      const unproven = await service().call('POST', `${plain.path}/deliveries/${id}/replay`)
      assert.deepEqual([unproven.status, unproven.body.error.code], [409, 'conflict'])
      const wrong: [string, object][] = [
        ['email', { email: null }],
        ['email', { kind: 'webhook', message: 'x' }],
        ['verify.scheme', { verify: { scheme: 'github', secret: 'INBOUND' } }],
        ['user_from', { user_from: '/from/address' }],
        ['email.address', { email: { ...email, address: 'help@example.org\r\nBcc: x' } }],
        ['email.provider', { email: { ...email, provider: 'pigeon' } }],
        ['email.api_key', { email: { ...email, api_key: 'MISSING' } }],
        ['email.api_key', { email: { ...email, api_url: 'http://127.0.0.1:9999' } }],
        ['email.authserv_id', { email: { ...email, authserv_id: 'a;b' } }],
      ]
      for (const [field, fields] of wrong) {
        const body = { ...fieldsFor(), ...fields }
        const reply = await service().call('POST', `/v1/agents/${plain.agent_id}/triggers`, { body })
        assert.equal(reply.status, 400, reply.text)
        assert.deepEqual(fieldsOf(reply.body), [field])
      }
    })
  },
  LOCAL_TOOLS,
)

describe('what a person wrote', () => {
  test('is without quotes, signatures and what programs add', () => {
    const texts = [
      'Yes.\n\nOn Mon, 1 Jan 2026, Ann\n<a@example.com> wrote:\n> x',
      'Yes.\n\n-----Original Message-----\nold',
      'Yes.\n\nAm 1.1.2026 um 10:00 schrieb Ann:\n\nold',
      'Yes.\n-- \nAnn\nHarbour Ltd.',
      'Yes.\n\nFrom: Ann\nSent: Monday\nold',
      '> old?\nYes.',
    ]
    for (const text of texts) assert.equal(withoutQuotes(text), 'Yes.', text)
    const forwarded = 'From: Ann\nSent: Monday\nTo: help@example.org\n\nWhen is the tide?'
    assert.equal(withoutQuotes(`\r\n${forwarded.replaceAll('\n', '\r\n')}`), forwarded)
    assert.equal(withoutQuotes('From: my desk, hello\nOn time: yes'), 'From: my desk, hello\nOn time: yes')
    const html =
      '<head><title>x</title></head><p>A&nbsp;b &#x26; c</p><ul><li>d</ul><!-- <p>e --><div class="gmail_quote">old</div>'
    assert.equal(textOfHtml(html), 'A b & c\n\n- d')
    const began = performance.now()
    for (const piece of ['<', '<!--', '&#', '<div ', '<script>', ' ', 'On ']) {
      textOfHtml(piece.repeat(100_000))
      withoutQuotes(piece.repeat(100_000))
      withoutQuotes(`${piece}\n`.repeat(50_000))
    }
    assert.ok(performance.now() - began < 5_000 * PATIENCE)
  })

  test('is proven only by the server and for the domain', () => {
    const proven = (...results: string[]) => isProven(results, 'MX.example.org', 'ann@Example.com')
    assert.ok(proven('mx.example.org 1; dmarc = pass (a (b) \\) ;c) header.from = example.com'))
    assert.ok(!proven('mx.example.org; x=(dmarc=pass header.from=example.com'))
    assert.ok(!proven('mx.example.org; dmarc=pass header.from=notexample.com'))
    assert.ok(!proven('mx.example.org.evil; dmarc=pass header.from=example.com'))
    assert.ok(!proven('mx.example.org; xdmarc=pass header.from=example.com; dmarc=passed header.from=example.com'))
  })
})
