import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { verifySignature } from '../../sdk/webhook.ts'
import { newWebhookSecret, signDelivery } from '../../src/webhooks/signature.ts'

const secret = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const vector = {
  id: 'evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A',
  timestamp: 1794700800,
  body: '{"id":"evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A","type":"agent.completed","timestamp":"2026-11-15T00:00:00.000Z","agent_id":"agt_01JCN5T0","data":{"request_id":"req_01JCN5W7","tokens_used":42,"duration_ms":1234}}',
}
const atVector = () => vector.timestamp * 1000

describe('signDelivery', () => {
  test('the published vector', () => {
    assert.deepEqual(signDelivery(vector, [secret]), {
      'X-Service-Signature': '0438c21a7bba44e1f99b98f268de9f3017df16eab655a6fa16a1045d03a28b18',
      'webhook-id': 'evt_01JCN5W7Q2M8X4T0V9R6B3KZ1A',
      'webhook-timestamp': '1794700800',
      'webhook-signature': 'v1,B0Db+BNdp0NIpU8Wr7WWsetQTavVjW13ccskQGyPu0E=',
    })
  })

  test('text and its bytes sign alike, unicode and escapes included', async () => {
    const body = '{"text":"Grüße \\u0000 \\"😀\\" \u2028 \\\\n"}'
    const bytes = new TextEncoder().encode(body)
    const signed = signDelivery({ ...vector, body }, [secret])
    assert.deepEqual(signDelivery({ ...vector, body: bytes }, [secret]), signed)
    assert.equal(await verifySignature(bytes, signed['X-Service-Signature'], secret), true)
    const outside = new Webhook(secret).sign(vector.id, new Date(atVector()), body)
    assert.equal(signed['webhook-signature'], outside)
  })

  test('during a rotation the standard header carries both secrets, X-Service-Signature the newest', async () => {
    const [newer, older] = [newWebhookSecret(randomBytes), newWebhookSecret(randomBytes)]
    const delivery = { ...vector, timestamp: Math.floor(Date.now() / 1000) }
    const rotating = signDelivery(delivery, [newer, older])
    assert.deepEqual(new Webhook(newer).verify(delivery.body, rotating), JSON.parse(delivery.body))
    assert.deepEqual(new Webhook(older).verify(delivery.body, rotating), JSON.parse(delivery.body))
    assert.equal(await verifySignature(delivery.body, rotating['X-Service-Signature'], newer), true)
    assert.equal(await verifySignature(delivery.body, rotating['X-Service-Signature'], older), false)

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
