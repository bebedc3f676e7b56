import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createClient } from '../../sdk/client.ts'
import type { Fetch } from '../../sdk/request.ts'
import { storeOf, wakeJobs } from '../support/inside.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { ranAgain } from '../support/service/ran-again.ts'
import { type Service, STORY_ENGINES, startService } from '../support/service/service.ts'
import { download, uploaded } from '../support/slices/files.ts'
import { createAgent } from '../support/slices/resources.ts'

const HOUR = 3_600_000
const PLAN = Buffer.from('the plan').toString('base64')

type NamedFile = { file_id: string; name: string }

for (const engine of STORY_ENGINES) {
  describe(`files of schedules, on ${engine}`, () => {
    let service: Service
    let site: LocalServer
    before(async () => {
      site = await startLocalServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/plain' }).end('the tides')
      })
      service = await startService(engine, LOCAL_TOOLS)
      await createAgent(service, 'slow', {
        model: 'builtin/script',
        script: { rules: [{ reply: 'late', delay_ms: 60_000 }] },
      })
    })
    after(async () => {
      await service.stop()
      await site.close()
    })
    const create = (attachments: object[], { agent = 'hello', ...more }: { agent?: string; context?: object } = {}) => {
      const body = { every: '24h', message: 'Anything new?', attachments, ...more }
      return service.call('POST', `/v1/agents/${agent}/schedules`, { body })
    }
    const created = async (...given: Parameters<typeof create>): Promise<{ id: string; attachments: NamedFile[] }> => {
      const reply = await create(...given)
      assert.equal(reply.status, 201, reply.text)
      return reply.body.data
    }
    const change = (id: string, body: object) => service.call('PATCH', `/v1/agents/hello/schedules/${id}`, { body })
    const receipt = async (agent: string, request_id: string) =>
      (await service.call('GET', `/v1/agents/${agent}/invocations/${request_id}`)).body.data
    const begin = async (id: string, agent = 'hello') => {
      const reply = await service.call('POST', `/v1/agents/${agent}/schedules/${id}/run`)
      assert.equal(reply.status, 202, reply.text)
      return reply.body.data.request_id as string
    }
    const run = async (id: string) => {
      const request_id = await begin(id)
      return until('the run has ended', async () => {
        const found = await receipt('hello', request_id)
        return ['completed', 'failed'].includes(found.status) ? found : undefined
      })
    }
    const isThere = async (id: string) => (await service.call('GET', `/v1/files/${id}`)).status === 200
    /** A file that nothing refers to: once it is swept up, so is everything else that could be. */
    const sweep = async () => {
      const { id, attachments } = await created([{ data: PLAN }])
      await service.call('DELETE', `/v1/agents/hello/schedules/${id}`)
      await ranAgain(service, 'retention', 3 * HOUR)
      await until('it was swept', async () => !(await isThere(attachments[0]?.file_id ?? '')))
    }

    test('are shown at each tick: stored ones, fetched ones and bytes', async () => {
      const file_id = await uploaded(service, 'the log', { type: 'text/plain', query: '?name=log.txt' })
      const asked = [{ file_id }, { url: `${site.url}/tides.txt` }, { data: PLAN, name: 'plan.txt' }]
      const { id, attachments } = await created(asked)
      const names = ['log.txt', 'tides.txt', 'plan.txt']
      assert.deepEqual(
        attachments.map(({ name }) => name),
        names,
      )
      assert.equal(attachments[0]?.file_id, file_id)
      const shown = attachments.map((one) => ({ ...one, shown_as: 'text', note: null }))
      assert.deepEqual((await run(id)).attachments, shown)
      service.advance(24 * HOUR)
      wakeJobs(service)
      const tick = await until('the tick has its run', async () => {
        const { body } = await service.call('GET', `/v1/agents/hello/invocations?schedule_id=${id}&limit=1`)
        return body.data[0]?.scheduled_at && body.data[0].status === 'completed' ? body.data[0] : undefined
      })
      assert.deepEqual((await receipt('hello', tick.request_id)).attachments, shown)

      await sweep()
      for (const one of attachments) assert.equal(await isThere(one.file_id), true, one.name)
      const fewer = await change(id, { attachments: [{ file_id: attachments[1]?.file_id }] })
      assert.deepEqual(fewer.body.data.attachments, [attachments[1]])
      await sweep()
      const left = await Promise.all(attachments.map((one) => isThere(one.file_id)))
      assert.deepEqual(left, [true, true, false], 'what was uploaded stays, what came with the schedule goes')
    })

    test('stay while a run that has begun needs them, and go with the schedule then', async () => {
      const { id, attachments } = await created([{ data: PLAN }], { agent: 'slow' })
      const file_id = attachments[0]?.file_id ?? ''
      const request_id = await begin(id, 'slow')
      await until('it runs', async () => (await receipt('slow', request_id)).status === 'running')
      await service.call('DELETE', `/v1/agents/slow/schedules/${id}`)
      await sweep()
      assert.equal(await isThere(file_id), true)
      await service.call('POST', `/v1/agents/slow/invocations/${request_id}/cancel`)
      await until('it has ended', async () => (await receipt('slow', request_id)).status === 'cancelled')
      await sweep()
      await until('it is gone', async () => !(await isThere(file_id)))
    })

    test('a file of a receipt stays when the receipt goes, as long as a schedule names it', async () => {
      const body = { message: 'Look', attachments: [{ data: PLAN }] }
      const { request_id } = (await service.call('POST', '/v1/agents/hello/invoke', { body })).body.data
      const { file_id } = (await receipt('hello', request_id)).attachments[0]
      const { id } = await created([{ file_id }])
      // As retention does.
      await storeOf(service).deleteFrom('invocations').where('id', '=', request_id).execute()
      await sweep()
      assert.equal((await download(service, file_id)).bytes.toString(), 'the plan')
      await service.call('DELETE', `/v1/agents/hello/schedules/${id}`)
      await sweep()
      await until('it is gone', async () => !(await isThere(file_id)))
    })

    test('what one schedule brought stays as long as another one names it', async () => {
      const first = await created([{ data: PLAN }])
      const file_id = first.attachments[0]?.file_id ?? ''
      const second = await created([{ file_id }, { file_id }])
      await service.call('DELETE', `/v1/agents/hello/schedules/${first.id}`)
      await change(second.id, { message: 'And now?' })
      await sweep()
      assert.equal(await isThere(file_id), true)
      await change(second.id, { attachments: [] })
      await sweep()
      await until('it is gone', async () => !(await isThere(file_id)))
    })

    test('a run whose file was deleted or has expired fails, and says which file', async () => {
      const deleted = await uploaded(service, 'deleted')
      const expired = await uploaded(service, 'expired', { query: '?expires_in_seconds=600' })
      for (const file_id of [deleted, expired]) {
        const { id } = await created([{ file_id }])
        assert.equal((await run(id)).status, 'completed')
        if (file_id === deleted) await service.call('DELETE', `/v1/files/${file_id}`)
        else service.advance(601_000)
        const { status, error } = await run(id)
        assert.deepEqual(
          [status, error],
          [
            'failed',
            { code: 'server_error', message: `The file ${file_id} no longer exists: it was deleted or has expired.` },
          ],
        )
      }
    })

    test('belong to the user of the schedule, and are erased with them', async () => {
      const ofBob = await uploaded(service, 'of bob', { query: '?user_id=bob' })
      const context = { user_id: 'ada' }
      assert.equal((await create([{ file_id: ofBob }], { context })).status, 404)
      const { id, attachments } = await created([{ data: PLAN }], { context })
      const file_id = attachments[0]?.file_id ?? ''
      assert.equal((await service.call('GET', `/v1/files/${file_id}`)).body.data.user_id, 'ada')
      const moved = await change(id, { context: { user_id: 'bob' } })
      assert.deepEqual(
        [moved.status, moved.body.error.details],
        [
          400,
          [
            {
              field: 'attachments',
              error: `the file ${file_id} belongs to another user; send \`attachments\` again with files of this user`,
            },
          ],
        ],
      )
      const both = await change(id, { context: { user_id: 'bob' }, attachments: [{ file_id: ofBob }] })
      assert.equal(both.status, 200, both.text)
      assert.equal((await service.call('DELETE', '/v1/users/bob')).status, 200)
      assert.equal((await service.call('GET', `/v1/agents/hello/schedules/${id}`)).status, 404)
      await until('it is gone', async () => !(await isThere(ofBob)))
    })

    test('of the SDK: bytes are uploaded for the user of the schedule', async () => {
      const { schedules, files } = createClient({ url: service.url, key: service.admin })
      const context = { user_id: 'eve' }
      const made = await schedules.create('hello', {
        every: '24h',
        message: 'Look',
        context,
        attachments: [new Blob(['a'])],
      })
      const changed = await schedules.update('hello', made.id, { attachments: [new Blob(['b'])] })
      for (const { attachments } of [made, changed]) {
        assert.equal((await files.get(attachments[0]?.file_id ?? '')).user_id, 'eve')
      }
      assert.notEqual(made.attachments[0]?.file_id, changed.attachments[0]?.file_id)
    })

    test('of the SDK: a change asks for the user only if bytes are uploaded, and ends with its signal', async () => {
      const asked: [string | undefined, boolean | undefined][] = []
      const watching: Fetch = (url, init) => {
        asked.push([init.method, init.signal?.aborted])
        return fetch(url, init)
      }
      const { schedules } = createClient({ url: service.url, key: service.admin, fetch: watching })
      const { id, attachments } = await created([{ data: PLAN }])
      await schedules.update('hello', id, { attachments: attachments.map(({ file_id }) => ({ file_id })) })
      await schedules.update('hello', id, { attachments: [] })
      assert.deepEqual(asked, [
        ['PATCH', false],
        ['PATCH', false],
      ])
      const signal = AbortSignal.abort()
      await assert.rejects(schedules.update('hello', id, { attachments: [new Blob(['b'])] }, { signal }))
      assert.equal(asked.length, 2, 'nothing is sent after the signal')
    })

    test('400 for an address that cannot be fetched, and for more than 20', async () => {
      const wrong = await create([{ url: 'http://127.0.0.1:1/' }])
      assert.deepEqual([wrong.status, wrong.body.error.details[0].field], [400, 'attachments.0.url'])
      assert.equal((await create(Array.from({ length: 21 }, () => ({ data: PLAN })))).status, 400)
    })
  })
}
