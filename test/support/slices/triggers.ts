import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import type { Service } from '../service/service.ts'

export type Sent = { body: string; headers: Record<string, string> }

// What the providers' own documents say, written down again: nothing here is taken from the service.
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text)

export const signed = {
  github: (secret: string, body: string): Sent => ({
    body,
    headers: { 'X-Hub-Signature-256': `sha256=${hmac(secret, body).digest('hex')}`, 'X-GitHub-Event': 'issues' },
  }),
  stripe: (secret: string, body: string, seconds: number): Sent => ({
    body,
    headers: { 'Stripe-Signature': `t=${seconds},v1=${hmac(secret, `${seconds}.${body}`).digest('hex')},v0=0a` },
  }),
  slack: (secret: string, body: string, seconds: number): Sent => ({
    body,
    headers: {
      'X-Slack-Request-Timestamp': `${seconds}`,
      'X-Slack-Signature': `v0=${hmac(secret, `v0:${seconds}:${body}`).digest('hex')}`,
    },
  }),
  telegram: (secret: string, body: string): Sent => ({
    body,
    headers: { 'X-Telegram-Bot-Api-Secret-Token': secret },
  }),
  standard: (secret: string, body: string, seconds: number, id = 'msg_1'): Sent => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
    const signature = hmac(key, `${id}.${seconds}.${body}`).digest('base64')
    const headers = { 'webhook-id': id, 'webhook-timestamp': `${seconds}`, 'webhook-signature': `v1,${signature}` }
    return { body, headers }
  },
}

/** A secret that is never sent anywhere. */
export async function setSecret(service: Service, name: string, value: string): Promise<void> {
  const reply = await service.call('PUT', `/v1/secrets/${name}`, { body: { value, hosts: ['none.invalid'] } })
  assert.equal(reply.status, 200, reply.text)
}

export type MadeTrigger = { id: string; address: string } & Record<string, unknown>

export async function createTrigger(service: Service, agent: string, body: object, key?: string): Promise<MadeTrigger> {
  const sent = { message: '{{/text}}', ...body }
  const reply = await service.call('POST', `/v1/agents/${agent}/triggers`, { body: sent, ...(key && { key }) })
  assert.equal(reply.status, 201, reply.text)
  return reply.body.data
}

/** Posts to the URL of a trigger, as its provider does. */
export async function post({ url }: { url: string }, address: string, { body, headers }: Sent) {
  const response = await fetch(url + address, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body,
  })
  const text = await response.text()
  return { status: response.status, text, headers: response.headers, body: JSON.parse(text) }
}
