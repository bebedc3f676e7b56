import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'
import { idsOf } from '../support/slices/resources.ts'

const INSIDE = { 'X-Forwarded-For': '192.0.2.10' }
const OUTSIDE = { 'X-Forwarded-For': '203.0.113.5' }

onAnyEngine(
  'files of agents with access restrictions',
  (service) => {
    const ask = (method: string, path: string, headers: Record<string, string>, body?: object) =>
      service().call(method, path, { headers, ...(body && { body }) })
    const listed = async (headers: Record<string, string>) => {
      const reply = await ask('GET', '/v1/files?user_id=ada', headers)
      assert.equal(reply.body.pagination.total, reply.body.data.length)
      return idsOf(reply).toSorted()
    }
    const exported = async (headers: Record<string, string>) => {
      const { text } = await ask('GET', '/v1/users/ada/export', headers)
      const lines = text.trim().split('\n').filter(Boolean)
      return lines
        .map((line) => JSON.parse(line) as { type: string; id: string })
        .flatMap(({ type, id }) => (type === 'file' ? id : []))
        .toSorted()
    }

    test('are restricted like the agent: list, get, content, delete, export, attach, erase', async () => {
      const security = { ipWhitelist: { enabled: true, addresses: ['192.0.2.10'] } }
      const guarded = await newAgent(service(), { security })
      const open = await newAgent(service())
      const context = { user_id: 'ada' }
      const attachments = [{ name: 'secret.txt', data: Buffer.from('4711').toString('base64') }]
      const said = await ask('POST', `/v1/agents/${guarded}/invoke`, INSIDE, { message: 'Keep', context, attachments })
      assert.equal(said.status, 200, said.text)
      const schedule = { every: '7d', message: 'Keep', context, attachments }
      const planned = await ask('POST', `/v1/agents/${guarded}/schedules`, INSIDE, schedule)
      assert.equal(planned.status, 201, planned.text)
      const message = { message: 'See', context, attachments }
      assert.equal((await ask('POST', `/v1/agents/${open}/invoke`, OUTSIDE, message)).status, 200)

      const all = await listed(INSIDE)
      const shown = await listed(OUTSIDE)
      assert.deepEqual([all.length, shown.length], [3, 1])
      assert.deepEqual([await exported(INSIDE), await exported(OUTSIDE)], [all, shown])
      for (const id of all) {
        const expected = shown.includes(id) ? 200 : 404
        for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) {
          assert.equal((await ask('GET', path, OUTSIDE)).status, expected, path)
          assert.equal((await ask('GET', path, INSIDE)).status, 200, path)
        }
        const attached = { message: 'See', context, attachments: [{ file_id: id }] }
        assert.equal((await ask('POST', `/v1/agents/${open}/invoke`, OUTSIDE, attached)).status, expected)
        if (expected === 404) assert.equal((await ask('DELETE', `/v1/files/${id}`, OUTSIDE)).status, 404)
      }
      const erased = await ask('DELETE', '/v1/users/ada', OUTSIDE)
      assert.equal(erased.status, 200, erased.text)
      assert.deepEqual(
        await listed(INSIDE),
        all.filter((id) => !shown.includes(id)),
      )
    })
  },
  { MOORAGE_SERVER__TRUSTED_PROXIES: '127.0.0.1' },
)
