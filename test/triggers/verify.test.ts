import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { newAgent } from '../support/service/agents.ts'
import { onOneEngine } from '../support/service/service.ts'
import { createTrigger, post, type Sent, setSecret, signed } from '../support/slices/triggers.ts'

const STANDARD = `whsec_${Buffer.from('a standard secret of 32 bytes!!!').toString('base64')}`
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const PUBLIC = Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url')

type Signer = (body: string, seconds: number) => Sent

/** For each scheme: its settings, its secret, and how its provider signs. */
const SCHEMES: Record<string, { secret: string; more?: object; by: Signer; isTimed: boolean }> = {
  github: { secret: 'It is a secret', by: (body) => signed.github('It is a secret', body), isTimed: false },
  stripe: { secret: 'whsec_abc', by: (body, at) => signed.stripe('whsec_abc', body, at), isTimed: true },
  slack: { secret: '8f742231b1', by: (body, at) => signed.slack('8f742231b1', body, at), isTimed: true },
  standard: { secret: STANDARD, by: (body, at) => signed.standard(STANDARD, body, at), isTimed: true },
  hmac: {
    secret: 'our own',
    more: { header: 'X-Own', algorithm: 'sha512', encoding: 'base64', prefix: 'v1=', timestamp_header: 'X-At' },
    by: (body, at) => ({
      body,
      headers: {
        'X-At': `${at}`,
        'X-Own': `v1=${createHmac('sha512', 'our own').update(`${at}.${body}`).digest('base64')}`,
      },
    }),
    isTimed: true,
  },
  ed25519: {
    secret: PUBLIC.toString('hex'),
    by: (body, at) => ({
      body,
      headers: {
        'X-Signature-Timestamp': `${at}`,
        'X-Signature-Ed25519': sign(null, Buffer.from(`${at}${body}`), privateKey).toString('hex'),
      },
    }),
    isTimed: true,
  },
}

const PAYLOAD = JSON.stringify({ id: 'evt_1', event_id: 'Ev1', update_id: 7, text: 'Is the tide in?' })

onOneEngine('the signature of a request to a trigger', (service) => {
  const seconds = () => Math.floor(service().now() / 1000)
  const made = async (scheme: string, secret: string, more: object = {}) => {
    const agent = await newAgent(service())
    const name = `${scheme}_secret`
    await setSecret(service(), name, secret)
    return { agent, ...(await createTrigger(service(), agent, { verify: { scheme, secret: name, ...more } })) }
  }
  const runsOf = async (agent: string) =>
    (await service().call('GET', `/v1/agents/${agent}/invocations`)).body.pagination.total as number

  for (const [scheme, { secret, more, by, isTimed }] of Object.entries(SCHEMES)) {
    test(`${scheme}: accepted once; a changed byte, another secret and an old request are refused`, async () => {
      const { agent, address, id } = await made(scheme, secret, more)
      const real = by(PAYLOAD, seconds())
      const accepted = await post(service(), address, real)
      assert.equal(accepted.status, 202, accepted.text)
      const again = await post(service(), address, real)
      assert.deepEqual([again.status, again.body.data.request_id], [200, accepted.body.data.request_id])
      assert.equal(again.body.data.repeated, true)

      const forgeries: Sent[] = [
        { ...real, body: PAYLOAD.replace('tide', 'tidE') },
        { ...real, headers: {} },
        ...Object.keys(real.headers).map((name) => ({
          ...real,
          headers: { ...real.headers, [name]: `${real.headers[name]}1`.replace('t=', 't=1') },
        })),
      ].filter(({ headers, body }) => body !== PAYLOAD || headers['X-GitHub-Event'] !== 'issues1')
      for (const forged of forgeries) {
        const refused = await post(service(), address, forged)
        assert.equal(refused.status, 401, `${JSON.stringify(forged.headers)} ${refused.text}`)
        assert.equal(refused.headers.get('www-authenticate'), 'Signature')
      }
      for (const at of isTimed ? [seconds() - 400, seconds() + 400] : []) {
        const old = await post(service(), address, by(PAYLOAD, at))
        assert.deepEqual([old.status, old.body.error.message.includes('timestamp')], [401, true], old.text)
      }
      assert.equal(await runsOf(agent), 1)
      const deliveries = `/v1/agents/${agent}/triggers/${id}/deliveries`
      const { body } = await service().call('GET', `${deliveries}?outcome=refused&limit=100`)
      const codes = new Set(body.data.map(({ code }: { code: string }) => code))
      assert.deepEqual([...codes].toSorted(), [
        'signature_invalid',
        'signature_missing',
        ...(isTimed ? ['too_old'] : []),
      ])
      assert.ok(body.data.every((one: { has_payload: boolean }) => !one.has_payload))
      service().advance(120_000)
    })
  }

  test('telegram and bearer: the secret itself, compared as a whole', async () => {
    for (const [scheme, headersOf] of [
      ['telegram', (secret: string) => ({ 'X-Telegram-Bot-Api-Secret-Token': secret })],
      ['bearer', (secret: string) => ({ Authorization: `Bearer ${secret}`, 'Idempotency-Key': 'one' })],
    ] as const) {
      const { agent, address } = await made(scheme, 'open-sesame')
      const sent = { body: PAYLOAD, headers: { ...headersOf('open-sesame') } }
      const first = await post(service(), address, sent)
      assert.equal(first.status, 202, first.text)
      assert.equal((await post(service(), address, sent)).body.data.request_id, first.body.data.request_id)
      for (const wrong of ['open-sesam', 'open-sesame1', 'OPEN-SESAME', ' ']) {
        assert.equal((await post(service(), address, { ...sent, headers: headersOf(wrong) })).status, 401, wrong)
      }
      assert.equal((await post(service(), address, { ...sent, headers: {} })).status, 401)
      assert.equal(await runsOf(agent), 1)
    }
  })

  test('a replayed GitHub event with another delivery ID, which GitHub does not sign, starts no run', async () => {
    const { agent, address } = await made('github', 'a')
    const real = signed.github('a', PAYLOAD)
    for (const id of ['one', 'two']) {
      const sent = { ...real, headers: { ...real.headers, 'X-GitHub-Delivery': id } }
      assert.ok((await post(service(), address, sent)).status < 300)
    }
    assert.equal(await runsOf(agent), 1)
  })

  test('a replayed request that Slack or Stripe signed without an event ID starts no run', async () => {
    for (const [scheme, signer] of Object.entries({ slack: signed.slack, stripe: signed.stripe })) {
      const { agent, address } = await made(scheme, 'a')
      const command = signer('a', JSON.stringify({ command: '/tide', text: 'in?' }), seconds())
      const [first, again] = [await post(service(), address, command), await post(service(), address, command)]
      assert.deepEqual([first.status, again.status, again.body.data.repeated], [202, 200, true], scheme)
      const later = signer('a', command.body, seconds() + 1)
      assert.equal((await post(service(), address, later)).status, 202)
      assert.equal(await runsOf(agent), 2)
    }
  })

  test('a new value of the secret counts at once, and without the secret nothing is accepted', async () => {
    const { agent, address, id } = await made('github', 'before')
    await setSecret(service(), 'github_secret', 'after')
    assert.equal((await post(service(), address, signed.github('before', PAYLOAD))).status, 401)
    assert.equal((await post(service(), address, signed.github('after', PAYLOAD))).status, 202)
    await service().call('DELETE', '/v1/secrets/github_secret')
    for (const secret of ['after', '']) {
      assert.equal((await post(service(), address, signed.github(secret, `${PAYLOAD} `))).status, 401)
    }
    const tested = await service().call('POST', `/v1/agents/${agent}/triggers/${id}/test`)
    assert.equal(tested.body.data.secret_found, false)
    const path = `/v1/agents/${agent}/triggers`
    const verify = { scheme: 'github', secret: 'github_secret' }
    const refused = await service().call('POST', path, { body: { message: 'x', verify } })
    assert.deepEqual([refused.status, refused.body.error.details[0].field], [400, 'verify.secret'])
  })

  test('guessing tokens and forging signatures is limited per IP address, and stays out of the log', async () => {
    service().advance(120_000)
    const { address } = await made('github', 'a')
    const statuses = new Set<number>()
    for (let i = 0; i < 35; i++) {
      const place = i % 2 === 0 ? address : `/v1/in/${'x'.repeat(43)}`
      statuses.add((await post(service(), place, { body: '{}', headers: {} })).status)
    }
    assert.deepEqual([...statuses].toSorted(), [401, 404, 429])
    assert.equal((await post(service(), address, signed.github('a', PAYLOAD))).status, 202, 'a real one still passes')
    assert.ok(
      !service()
        .log()
        .includes(address.split('/').at(-1) as string),
    )
  })
})
