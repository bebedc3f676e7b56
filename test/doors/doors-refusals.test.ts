import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOORS, type DoorReply } from '../support/clients/doors.ts'
import { until } from '../support/running/until.ts'
import { onAnyEngine, type Service } from '../support/service/service.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

/** Who asks for which agent. Each door gets its own, so that no refusal is counted together with another. */
type DoorAttempt = { key: string; key_id?: string; agent: string; address?: string; first?: DoorReply }

type Case = {
  told: DoorReply
  audit: { action: string | null; code: string } | null
  ask(s: Service, n: number): Promise<DoorAttempt>
}

const refused = (code: string, status: number): DoorReply => ({ code, status })
const invoking = (code: string) => ({ action: 'invokeAgent', code })

async function newKey(service: Service, body: object): Promise<{ key: string; key_id: string }> {
  const { secret, id } = await createKey(service, { role: 'developer', ...body })
  return { key: secret, key_id: id }
}

const CASES: Record<string, Case> = {
  'a wrong key': {
    told: refused('unauthorized', 401),
    audit: invoking('unauthorized'),
    ask: async (_service, n) => ({ key: 'mrg_wrong', agent: 'hello', address: `192.0.2.${n}` }),
  },
  'a key that may only read': {
    told: refused('forbidden', 403),
    audit: invoking('forbidden'),
    ask: async (service) => ({ ...(await newKey(service, { role: 'viewer' })), agent: 'hello' }),
  },
  'a key of another agent': {
    told: refused('forbidden', 403),
    audit: invoking('forbidden'),
    async ask(service, n) {
      const agent_id = await createAgent(service, `own-${n}`)
      return { ...(await newKey(service, { agent_id })), agent: 'hello' }
    },
  },
  'a key of another agent, and an agent that does not exist': {
    told: refused('forbidden', 403),
    audit: invoking('forbidden'),
    async ask(service, n) {
      const agent_id = await createAgent(service, `owned-${n}`)
      return { ...(await newKey(service, { agent_id })), agent: 'nobody' }
    },
  },
  'an agent that does not exist': {
    told: refused('not_found', 404),
    audit: null,
    ask: async (service) => ({ ...(await newKey(service, {})), agent: 'nobody' }),
  },
  'a paused agent': {
    told: refused('agent_paused', 409),
    audit: null,
    async ask(service, n) {
      const agent = `paused-${n}`
      await createAgent(service, agent)
      await service.call('PATCH', `/v1/agents/${agent}`, { body: { status: 'paused' } })
      return { ...(await newKey(service, {})), agent }
    },
  },
  'an agent whose own limit is reached': {
    told: refused('rate_limited', 429),
    audit: invoking('rate_limited'),
    async ask(service, n) {
      const agent = `limited-${n}`
      await createAgent(service, agent, { security: { rateLimit: { enabled: true, requests: 1, window: '1d' } } })
      return { ...(await newKey(service, {})), agent, first: { response: 'hi' } }
    },
  },
  'an agent that lists other addresses': {
    told: refused('forbidden', 403),
    audit: invoking('forbidden'),
    async ask(service, n) {
      const agent = `walled-${n}`
      await createAgent(service, agent, {
        security: { ipWhitelist: { enabled: true, addresses: ['198.51.100.1'] } },
      })
      return { ...(await newKey(service, {})), agent }
    },
  },
  'an agent that wants a one-time code': {
    told: refused('mfa_required', 401),
    audit: invoking('mfa_required'),
    async ask(service, n) {
      const agent = `coded-${n}`
      await createAgent(service, agent, { security: { mfa: { enabled: true, requiredFor: ['invoke'] } } })
      return { ...(await newKey(service, {})), agent }
    },
  },
  'a tier that is used up': {
    told: refused('rate_limited', 429),
    audit: invoking('rate_limited'),
    ask: async (service) => ({
      ...(await newKey(service, { tier: 'tiny' })),
      agent: 'hello',
      first: { response: 'hi' },
    }),
  },
}

onAnyEngine(
  'refusals on every channel',
  (service) => {
    let number = 0
    const auditOf = async (key_id: string | undefined, address: string | undefined) => {
      const { body } = await service().call('GET', '/v1/audit-log?limit=100', {
        // An agent with an IP allowlist shows its entries only to those addresses.
        headers: { 'X-Forwarded-For': '198.51.100.1' },
      })
      return (body.data as { actor: string | null; address: string; action: string; code: string; outcome: string }[])
        .filter((entry) => entry.outcome === 'refused')
        .find((entry) => (key_id ? entry.actor === key_id : entry.address === address))
    }

    for (const [name, { told, audit, ask }] of Object.entries(CASES)) {
      for (const [door, invoke] of Object.entries(DOORS)) {
        test(`${name}: ${door}`, async () => {
          const { key, key_id, agent, address, first } = await ask(service(), ++number)
          const headers = address === undefined ? {} : { 'X-Forwarded-For': address }
          const call = { agent, message: 'hi', key, headers }
          if (first) assert.deepEqual(await invoke(service(), call), first)
          assert.deepEqual(await invoke(service(), call), told)
          if (!audit) return assert.equal(await auditOf(key_id, address), undefined)
          const entry = await until('the refusal is in the audit log', () => auditOf(key_id, address))
          assert.deepEqual({ action: entry.action, code: entry.code }, audit)
        })
      }
    }
  },
  {
    MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1',
    MOORAGE_LIMITS__TIERS: '{"tiny":{"requestsPerMinute":1,"burst":1}}',
  },
)
