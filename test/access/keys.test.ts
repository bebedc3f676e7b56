import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { sql } from 'kysely'
import { updateLastUsed } from '../../src/keys/store.ts'
import { keyVerifier } from '../../src/keys/verify-key.ts'
import { sha256 } from '../../src/security/digest.ts'
import { isWellFormedKey } from '../../src/security/key-format.ts'
import { assertRefusal, fieldsOf } from '../support/clients/refusal.ts'
import { partsOf } from '../support/inside.ts'
import { onBothEngines } from '../support/service/service.ts'
import { createAgent, createKey, idsOf, later, namesOf } from '../support/slices/resources.ts'

const HOUR = 3_600_000

onBothEngines('keys', (service) => {
  const create = (body: object) => createKey(service(), body)
  const agent = (name: string) => createAgent(service(), name)
  const get = (path: string) => service().call('GET', path)
  const self = (key: string) => service().call('GET', '/v1/keys/self', { key })

  describe('POST /v1/keys', () => {
    test('201 with the record, where to find it, and the secret this once', async () => {
      const body = { name: 'reporting', permissions: ['read', 'write'] }
      const { status, headers, body: reply } = await service().call('POST', '/v1/keys', { body })
      assert.equal(status, 201)
      const { id, secret, created_at, created_by, ...rest } = reply.data
      assert.match(id, /^key_[0-9A-Z]{26}$/)
      assert.equal(headers.get('location'), `/v1/keys/${id}`)
      assert.match(secret, /^mrg_[0-9A-Za-z]{49}$/)
      assert.ok(isWellFormedKey(secret))
      assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 10_000)
      assert.equal(created_by, (await self(service().admin)).body.data.id)
      assert.deepEqual(rest, {
        name: 'reporting',
        project_id: 'prj_default',
        agent_id: null,
        permissions: ['read', 'write'],
        role: null,
        tier: 'pro',
        created_by_name: 'first admin key',
        person_id: null,
        person_name: null,
        hint: `${secret.slice(0, 8)}…${secret.slice(-4)}`,
        status: 'active',
        expires_at: null,
        last_used_at: null,
        previous_secret_expires_at: null,
        revoked_at: null,
      })
    })

    test('the new key works at once', async () => {
      const { secret } = await create({ role: 'viewer' })
      assert.equal((await service().call('GET', '/v1/agents', { key: secret })).status, 200)
    })

    test('a role grants its permissions', async () => {
      const roles = {
        admin: ['read', 'write', 'delete', 'manage', 'approve'],
        developer: ['read', 'write'],
        viewer: ['read'],
      }
      for (const [role, permissions] of Object.entries(roles)) {
        const { secret } = await create({ role })
        assert.deepEqual((await self(secret)).body.data.permissions, permissions)
      }
    })

    test('agent_id takes a name; the record carries the id', async () => {
      const agent_id = await agent('named-scope')
      const created = await create({ role: 'viewer', agent_id: 'named-scope' })
      assert.equal((await self(created.secret)).body.data.agent_id, agent_id)
    })

    test('expires_at accepts any offset and is returned in UTC', async () => {
      const { secret } = await create({ role: 'viewer', expires_at: '2199-01-01T01:30:00+01:30' })
      assert.equal((await self(secret)).body.data.expires_at, '2199-01-01T00:00:00.000Z')
    })

    test('400 names the missing field', async () => {
      const { status, headers, body } = await service().call('POST', '/v1/keys', { body: { role: 'viewer' } })
      assertRefusal({ status, headers, body }, 400, 'invalid_request', {
        details: [{ field: 'name', error: 'is required' }],
      })
    })

    const wrong: Record<string, [body: object, field: string]> = {
      'neither permissions nor role': [{ role: undefined }, 'permissions'],
      'both permissions and role': [{ permissions: ['read'] }, 'permissions'],
      'no permission at all': [{ role: undefined, permissions: [] }, 'permissions'],
      'a permission twice': [{ role: undefined, permissions: ['read', 'read'] }, 'permissions'],
      'an unknown permission': [{ role: undefined, permissions: ['sudo'] }, 'permissions.0'],
      'an unknown role': [{ role: 'root' }, 'role'],
      'a role that is a word of JavaScript': [{ role: 'constructor' }, 'role'],
      'an unknown tier': [{ tier: 'platinum' }, 'tier'],
      'a tier that is a word of JavaScript': [{ tier: '__proto__' }, 'tier'],
      'an agent that does not exist': [{ agent_id: 'nobody' }, 'agent_id'],
      'an expiry in the past': [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
      '30 February': [{ expires_at: '2099-02-30T00:00:00Z' }, 'expires_at'],
      'a time without an offset': [{ expires_at: '2099-01-01T00:00:00' }, 'expires_at'],
      'an expiry after the year 9999': [{ expires_at: '9999-12-31T23:59:59-10:00' }, 'expires_at'],
      'a number for a name': [{ name: 7 }, 'name'],
      'null for a name': [{ name: null }, 'name'],
      'an empty name': [{ name: '' }, 'name'],
      'a name of 201 characters': [{ name: 'x'.repeat(201) }, 'name'],
    }
    for (const [name, [body, field]] of Object.entries(wrong)) {
      test(`400 for ${name}`, async () => {
        const reply = await service().call('POST', '/v1/keys', { body: { name: 'x', role: 'viewer', ...body } })
        assert.equal(reply.status, 400, reply.text)
        assert.equal(reply.body.error.code, 'invalid_request')
        assert.deepEqual(fieldsOf(reply.body), [field])
      })
    }

    test('400 for every field that is ours to set', async () => {
      for (const field of [
        'id',
        'secret',
        'hash',
        'hint',
        'status',
        'created_at',
        'created_by',
        'revoked_at',
        'owner',
      ]) {
        const body = { name: 'x', role: 'viewer', [field]: 'mine' }
        const reply = await service().call('POST', '/v1/keys', { body })
        assert.equal(reply.status, 400)
        assert.deepEqual(fieldsOf(reply.body), [field])
      }
    })
  })

  describe('GET /v1/keys', () => {
    test('a page of records, without secrets', async () => {
      const agent_id = await agent('listed')
      const { secret, ...record } = await create({ role: 'viewer', agent_id, name: 'listed key' })
      const { status, body, text } = await get(`/v1/keys?agent_id=${agent_id}`)
      assert.equal(status, 200)
      assert.deepEqual(body, { data: [record], pagination: { limit: 10, offset: 0, total: 1, has_more: false } })
      assert.ok(!text.includes(secret))
    })

    test('pages neither repeat nor skip', async () => {
      const agent_id = await agent('paged')
      const created = await Promise.all(Array.from({ length: 7 }, () => create({ role: 'viewer', agent_id })))
      const seen: string[] = []
      for (const offset of [0, 3, 6, 9]) {
        const page = await get(`/v1/keys?agent_id=paged&limit=3&offset=${offset}&sort=name`)
        assert.deepEqual(page.body.pagination, { limit: 3, offset, total: 7, has_more: offset + 3 < 7 })
        seen.push(...idsOf(page))
      }
      assert.deepEqual(seen, created.map(({ id }) => id).toSorted(), 'equal names: the id decides')
    })

    test('newest first; sort turns it round', async () => {
      const agent_id = await agent('sorted')
      for (const name of ['b', 'a', 'C']) {
        await create({ role: 'viewer', agent_id, name })
        service().advance(1000)
      }
      const names = async (sort: string) => namesOf(await get(`/v1/keys?agent_id=${agent_id}${sort}`)).join('')
      assert.equal(await names(''), 'Cab')
      assert.equal(await names('&sort=-created_at'), 'Cab')
      assert.equal(await names('&sort=created_at'), 'baC')
      assert.equal(await names('&sort=name'), 'Cab', 'by bytes, on either engine')
      assert.equal(await names('&sort=-name'), 'baC')
      service().advance(-3000)
    })

    test('a key that never expires sorts after all that do, on either engine', async () => {
      const agent_id = await agent('expiring')
      for (const [name, expires_at] of [
        ['never', null],
        ['soon', '2198-01-01T00:00:00Z'],
        ['late', '2199-01-01T00:00:00Z'],
      ]) {
        await create({ role: 'viewer', agent_id, name, expires_at })
      }
      const names = async (sort: string) => namesOf(await get(`/v1/keys?agent_id=${agent_id}&sort=${sort}`))
      assert.deepEqual(await names('expires_at'), ['soon', 'late', 'never'])
      assert.deepEqual(await names('-expires_at'), ['never', 'late', 'soon'])
    })

    test('status picks active, expired or revoked keys', async () => {
      const agent_id = await agent('filtered')
      const inAnHour = new Date(Date.now() + HOUR).toISOString()
      const active = await create({ role: 'viewer', agent_id })
      const expired = await create({ role: 'viewer', agent_id, expires_at: inAnHour })
      const revoked = await create({ role: 'viewer', agent_id })
      await service().call('DELETE', `/v1/keys/${revoked.id}`)
      const listed: Record<string, unknown> = {}
      await later(service(), HOUR, async () => {
        for (const status of ['active', 'expired', 'revoked']) {
          const { body } = await get(`/v1/keys?agent_id=${agent_id}&status=${status}`)
          listed[status] = body.data.map((key: { id: string; status: string }) => [key.id, key.status])
        }
      })
      assert.deepEqual(listed, {
        active: [[active.id, 'active']],
        expired: [[expired.id, 'expired']],
        revoked: [[revoked.id, 'revoked']],
      })
    })

    test('a scoped key sees the keys of its agent only', async () => {
      const agent_id = await agent('own')
      await agent('foreign')
      const own = await create({ role: 'admin', agent_id })
      await create({ role: 'viewer', agent_id: 'foreign' })
      const page = await service().call('GET', '/v1/keys', { key: own.secret })
      assert.deepEqual(idsOf(page), [own.id])
      assert.equal(page.body.pagination.total, 1)
      for (const other of ['foreign', 'not-there']) {
        const reply = await service().call('GET', `/v1/keys?agent_id=${other}`, { key: own.secret })
        assert.equal(reply.status, 403)
      }
    })

    test('nothing for an agent that does not exist', async () => {
      const { status, body } = await get('/v1/keys?agent_id=not-there')
      assert.equal(status, 200)
      assert.deepEqual(body, { data: [], pagination: { limit: 10, offset: 0, total: 0, has_more: false } })
    })
  })

  describe('GET /v1/keys/{key_id}', () => {
    test('200 with the record, without the secret', async () => {
      const { secret: _, ...record } = await create({ role: 'viewer' })
      const { status, body } = await get(`/v1/keys/${record.id}`)
      assert.equal(status, 200)
      assert.deepEqual(body, { success: true, data: record })
    })

    test('404 for a key that does not exist', async () => {
      assertRefusal(await get('/v1/keys/key_none'), 404, 'not_found')
    })

    test('403 for a scoped key, whether or not the other key exists', async () => {
      const agent_id = await agent('looking')
      const { secret } = await create({ role: 'admin', agent_id })
      const other = await create({ role: 'viewer' })
      const replies = await Promise.all(
        [other.id, 'key_none'].map((id) => service().call('GET', `/v1/keys/${id}`, { key: secret })),
      )
      for (const { status, body } of replies) {
        assert.equal(status, 403)
        assert.equal(body.error.code, 'forbidden')
      }
    })

    test('last_used_at is written down by the time the service stops', async () => {
      const { id, secret } = await create({ role: 'viewer' })
      assert.equal((await get(`/v1/keys/${id}`)).body.data.last_used_at, null)
      await self(secret)
      await service().restart()
      const { last_used_at } = (await get(`/v1/keys/${id}`)).body.data
      assert.ok(Math.abs(Date.parse(last_used_at) - Date.now()) < 10_000)
    })

    test('last_used_at of many keys is written together, and never goes back', async () => {
      const parts = partsOf(service())
      const ids = await Promise.all(Array.from({ length: 20 }, async () => (await create({ role: 'viewer' })).id))
      const at = Date.now()
      const write = (time: number) => updateLastUsed(parts.storage.db, new Map(ids.map((id) => [id, time])))
      await write(at)
      await write(at - 1000)
      for (const id of ids) assert.equal(Date.parse((await get(`/v1/keys/${id}`)).body.data.last_used_at), at)
    })

    test('last_used_at that could not be written is written the next time', async () => {
      const { id, secret } = await create({ role: 'viewer' })
      const parts = partsOf(service())
      const keys = keyVerifier(parts)
      assert.equal((await keys.verify(sha256(secret)))?.key.id, id)
      await sql`alter table keys rename column last_used_at to away`.execute(parts.storage.db)
      try {
        await assert.rejects(keys.flush(), /last_used_at/)
      } finally {
        await sql`alter table keys rename column away to last_used_at`.execute(parts.storage.db)
      }
      await keys.flush()
      assert.notEqual((await get(`/v1/keys/${id}`)).body.data.last_used_at, null)
    })
  })

  test('GET /v1/keys/self returns any key its own record and permissions', async () => {
    const agent_id = await agent('selfish')
    const expires_at = '2199-01-01T00:00:00.000Z'
    const { id, secret } = await create({
      name: 'me',
      permissions: ['delete'],
      agent_id,
      tier: 'pro',
      expires_at,
    })
    const { status, body } = await self(secret)
    assert.equal(status, 200)
    assert.deepEqual(body, {
      success: true,
      data: {
        id,
        kind: 'key',
        person_id: null,
        name: 'me',
        project_id: 'prj_default',
        reach: 'project',
        agent_id,
        permissions: ['delete'],
        tier: 'pro',
        tiers: [
          { name: 'free', requests_per_minute: 60, burst: 100 },
          { name: 'pro', requests_per_minute: 1000, burst: 2000 },
        ],
        default_tier: 'pro',
        // A key that has only the permission delete can't assign any role.
        roles: [],
        expires_at,
      },
    })
  })
})
