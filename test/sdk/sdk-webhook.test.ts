import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifySignature, verifyWebhook, WebhookVerificationError } from '../../sdk/client.ts'
import { signDelivery } from '../../src/webhooks/signature.ts'

const SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const OTHER = 'whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA='
const TIME = 1_794_700_800
const BODY =
  '{"id":"evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A","type":"agent.completed","timestamp":"2026-11-15T00:00:00.000Z","agent_id":"agt_01JCN5T0","data":{"request_id":"req_01JCN5W7","tokens_used":42,"duration_ms":1234}}'
const VECTOR = {
  'X-Service-Signature': '0438c21a7bba44e1f99b98f268de9f3017df16eab655a6fa16a1045d03a28b18',
  'webhook-id': 'evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A',
  'webhook-timestamp': String(TIME),
  'webhook-signature': 'v1,B0Db+BNdp0NIpU8Wr7WWsetQTavVjW13ccskQGyPu0E=',
}
const now = () => TIME * 1000

describe('verifyWebhook', () => {
  test('returns the event of a valid delivery: as text or bytes, with headers in any form', async () => {
    for (const body of [BODY, new TextEncoder().encode(BODY)]) {
      for (const headers of [VECTOR, new Headers(VECTOR)]) {
        const event = await verifyWebhook({ body, headers, secret: SECRET, now })
        assert.deepEqual(event, JSON.parse(BODY))
      }
    }
  })

  test('accepts either secret during a rotation', async () => {
    const headers = signDelivery({ id: 'evt_1', timestamp: TIME, body: BODY }, [OTHER, SECRET])
    for (const secret of [OTHER, SECRET, [SECRET, OTHER]]) await verifyWebhook({ body: BODY, headers, secret, now })
  })

  test("accepts another implementation's signature, next to an unknown scheme", async () => {
    const outside = new Webhook(SECRET).sign(VECTOR['webhook-id'], new Date(now()), BODY)
    const headers = { ...VECTOR, 'webhook-signature': `v1a,xx ${outside}` }
    assert.deepEqual(await verifyWebhook({ body: BODY, headers, secret: SECRET, now }), JSON.parse(BODY))
  })

  test('accepts times up to five minutes early or late, and only numbers', async () => {
    const received = { body: BODY, headers: VECTOR, secret: SECRET }
    for (const seconds of [300, -300]) await verifyWebhook({ ...received, now: () => now() + seconds * 1000 })
    for (const timestamp of ['', 'now', '1794700800.0', '0x6af8', ' 1794700800', '9'.repeat(400)]) {
      const headers = { ...VECTOR, 'webhook-timestamp': timestamp }
      await assert.rejects(verifyWebhook({ ...received, headers, now }), WebhookVerificationError, timestamp)
    }
  })

  test('rejects a delivery that was changed, is too old or too new, or has no valid signature', async () => {
    const cases = {
      body: { body: BODY.replace('42', '43') },
      id: { headers: { ...VECTOR, 'webhook-id': 'evt_2' } },
      time: { headers: { ...VECTOR, 'webhook-timestamp': String(TIME + 1) } },
      old: { now: () => (TIME + 301) * 1000 },
      future: { now: () => (TIME - 301) * 1000 },
      secret: { secret: OTHER },
      'no secret': { secret: '' },
      'no secrets': { secret: [] },
      'no signature': { headers: { ...VECTOR, 'webhook-signature': '' } },
      'another scheme': {
        headers: { ...VECTOR, 'webhook-signature': VECTOR['webhook-signature'].replace('v1', 'v2') },
      },
      'an empty signature': { headers: { ...VECTOR, 'webhook-signature': 'v1,' } },
      'no base64': { headers: { ...VECTOR, 'webhook-signature': 'v1,%%%' } },
      // Without the time an old delivery could be played back.
      'only X-Service-Signature': { headers: { 'X-Service-Signature': VECTOR['X-Service-Signature'] } },
      'a time that is none': { headers: { ...VECTOR, 'webhook-timestamp': '1e9' } },
    }
    for (const [name, change] of Object.entries(cases)) {
      const received = { body: BODY, headers: VECTOR, secret: SECRET, now, ...change }
      await assert.rejects(verifyWebhook(received), WebhookVerificationError, name)
    }
  })
})

describe('verifySignature', () => {
  test('checks X-Service-Signature', async () => {
    assert.equal(await verifySignature(BODY, VECTOR['X-Service-Signature'], SECRET), true)
    assert.equal(await verifySignature(`${BODY} `, VECTOR['X-Service-Signature'], SECRET), false)
    assert.equal(await verifySignature(BODY, VECTOR['X-Service-Signature'], OTHER), false)
    const signature = VECTOR['X-Service-Signature']
    assert.equal(await verifySignature(BODY, signature.toUpperCase(), SECRET), true)
    for (const wrong of [
      '',
      'zz',
      signature.slice(2),
      `${signature}00`,
      signature.replace('0', 'g'),
      `sha256=${signature}`,
    ]) {
      assert.equal(await verifySignature(BODY, wrong, SECRET), false, wrong)
    }
  })
})
