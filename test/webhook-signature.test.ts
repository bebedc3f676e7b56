import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { newWebhookSecret, signDelivery, verifyBody, verifyDelivery } from '../src/webhooks/signature.ts'

const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const vector = {
  id: 'evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A',
  timestamp: 1794700800,
  body: '{"id":"evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A","type":"agent.completed","timestamp":"2026-11-15T00:00:00.000Z","agent_id":"agt_01JCN5T0","data":{"request_id":"req_01JCN5W7","tokens_used":42,"duration_ms":1234}}',
}
const atVector = () => vector.timestamp * 1000
const at = (seconds: number) => () => atVector() + seconds * 1000

describe('signDelivery', () => {
  test('the published vector', () => {
    assert.deepEqual(signDelivery(vector, [secret]), {
      'X-Service-Signature': '0438c21a7bba44e1f99b98f268de9f3017df16eab655a6fa16a1045d03a28b18',
      'webhook-id': 'evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A',
      'webhook-timestamp': '1794700800',
      'webhook-signature': 'v1,B0Db+BNdp0NIpU8Wr7WWsetQTavVjW13ccskQGyPu0E=',
    })
  })

  test('text and its bytes sign alike, unicode and escapes included', () => {
    const body = '{"text":"Grüße \\u0000 \\"😀\\" \u2028 \\\\n"}'
    const bytes = new TextEncoder().encode(body)
    const signed = signDelivery({ ...vector, body }, [secret])
    assert.deepEqual(signDelivery({ ...vector, body: bytes }, [secret]), signed)
    assert.equal(verifyBody(bytes, signed['X-Service-Signature'], [secret]), true)
    const outside = new Webhook(secret).sign(vector.id, new Date(atVector()), body)
    assert.equal(signed['webhook-signature'], outside)
  })

  test('during a rotation the standard header carries both secrets, X-Service-Signature the newest', () => {
    const [newer, older] = [newWebhookSecret(randomBytes), newWebhookSecret(randomBytes)]
    const delivery = { ...vector, timestamp: Math.floor(Date.now() / 1000) }
    const rotating = signDelivery(delivery, [newer, older])
    assert.deepEqual(new Webhook(newer).verify(delivery.body, rotating), JSON.parse(delivery.body))
    assert.deepEqual(new Webhook(older).verify(delivery.body, rotating), JSON.parse(delivery.body))
    assert.equal(verifyBody(delivery.body, rotating['X-Service-Signature'], [newer]), true)
    assert.equal(verifyBody(delivery.body, rotating['X-Service-Signature'], [older]), false)

    const afterGrace = signDelivery(delivery, [newer])
    assert.throws(() => new Webhook(older).verify(delivery.body, afterGrace), /No matching signature/)
  })

  test('nothing is sent unsigned', () => {
    assert.throws(() => signDelivery(vector, []), /at least one secret/)
  })
})

describe('newWebhookSecret', () => {
  test('whsec_ and the base64 of 32 random bytes', () => {
    assert.equal(
      newWebhookSecret(() => Buffer.from('0123456789abcdef0123456789abcdef')),
      secret,
    )
    assert.match(newWebhookSecret(randomBytes), /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.notEqual(newWebhookSecret(randomBytes), newWebhookSecret(randomBytes))
  })
})

describe('verifyDelivery', () => {
  const received = { ...signDelivery(vector, [secret]), body: vector.body }

  test('accepts what was signed, also by the outside signer', () => {
    assert.equal(verifyDelivery(received, [secret], atVector), true)
    const outside = new Webhook(secret).sign(vector.id, new Date(atVector()), vector.body)
    assert.equal(verifyDelivery({ ...received, 'webhook-signature': `v1a,xx ${outside}` }, [secret], atVector), true)
    assert.equal(verifyDelivery(received, [newWebhookSecret(randomBytes), secret], atVector), true)
  })

  test('refuses a changed body, id, time, signature or secret', () => {
    for (const change of [
      { body: vector.body.replace('42', '43') },
      { 'webhook-id': 'evt_other' },
      { 'webhook-timestamp': String(vector.timestamp + 1) },
      { 'webhook-signature': 'v1,AAAA+BNdp0NIpU8Wr7WWsetQTavVjW13ccskQGyPu0E=' },
      { 'webhook-signature': 'v1,' },
      { 'webhook-signature': '' },
      { 'webhook-signature': received['webhook-signature'].replace('v1,', 'v2,') },
    ]) {
      assert.equal(verifyDelivery({ ...received, ...change }, [secret], atVector), false, JSON.stringify(change))
    }
    assert.equal(verifyDelivery(received, [newWebhookSecret(randomBytes)], atVector), false)
    assert.equal(verifyDelivery(received, [], atVector), false)
  })

  test('refuses what is more than five minutes old or early, and a time that is no number', () => {
    assert.equal(verifyDelivery(received, [secret], at(300)), true)
    assert.equal(verifyDelivery(received, [secret], at(301)), false)
    assert.equal(verifyDelivery(received, [secret], at(-300)), true)
    assert.equal(verifyDelivery(received, [secret], at(-301)), false)
    for (const timestamp of ['', 'now', '1794700800.0', '0x6af8', ' 1794700800', '9'.repeat(400)]) {
      assert.equal(
        verifyDelivery({ ...received, 'webhook-timestamp': timestamp }, [secret], atVector),
        false,
        timestamp,
      )
    }
  })
})

describe('verifyBody', () => {
  test('accepts hexadecimal in either case, refuses every other text', () => {
    const signature = signDelivery(vector, [secret])['X-Service-Signature']
    assert.equal(verifyBody(vector.body, signature, [secret]), true)
    assert.equal(verifyBody(vector.body, signature.toUpperCase(), [secret]), true)
    for (const wrong of [
      '',
      signature.slice(2),
      `${signature}00`,
      signature.replace('0', 'g'),
      `sha256=${signature}`,
    ]) {
      assert.equal(verifyBody(vector.body, wrong, [secret]), false, wrong)
    }
    assert.equal(verifyBody(`${vector.body}\n`, signature, [secret]), false)
  })
})
