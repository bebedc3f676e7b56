import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as files from '../../src/files/store.ts'
import { storeOf, wakeJobs } from '../support/inside.ts'
import { JWT_SETTINGS, signJwt } from '../support/outside/tokens.ts'
import { until } from '../support/running/until.ts'
import { inProject, onBothEngines, type Service } from '../support/service/service.ts'
import { download, storedBytes, untilSettled, untilStored, upload, uploaded } from '../support/slices/files.ts'
import { createAgent, createKey, idsOf } from '../support/slices/resources.ts'

const FEW_FILES = { MOORAGE_FILES__MAX_PER_USER: '6', MOORAGE_FILES__MAX_PER_PROJECT: '20' }

onBothEngines(
  'whose files a client can see',
  (service) => {
    const makeProject = async (name: string, limits: object = {}): Promise<Service> => {
      const reply = await service().call('POST', '/v1/projects', { body: { name, limits } })
      assert.equal(reply.status, 201, reply.text)
      return inProject(service(), name)
    }
    const status = async (id: string, key: string, method = 'GET') =>
      (await service().call(method, `/v1/files/${id}`, { key })).status

    test("a user's token can create, list, read and delete only that user's files", async () => {
      const permissions = ['read', 'write', 'delete']
      const [ada, bob] = [
        await signJwt({ user_id: 'ada', permissions }),
        await signJwt({ user_id: 'bob', permissions }),
      ]
      const own = await uploaded(service(), 'of ada', { key: ada })
      const given = await uploaded(service(), 'for ada', { query: '?user_id=ada' })
      const nobodys = await uploaded(service(), 'of no user')
      assert.equal((await upload(service(), 'x', { key: ada, query: '?user_id=bob' })).status, 403)
      assert.deepEqual(idsOf(await service().call('GET', '/v1/files', { key: ada })), [given, own])
      assert.deepEqual(idsOf(await service().call('GET', '/v1/files', { key: bob })), [])
      for (const id of [own, given, nobodys]) {
        assert.equal(await status(id, bob), 404)
        assert.equal((await download(service(), id, { key: bob })).status, 404)
        assert.equal(await status(id, bob, 'DELETE'), 404)
      }
      assert.equal(await status(nobodys, ada), 404)
      const { body } = await service().call('GET', `/v1/files/${own}`, { key: ada })
      assert.deepEqual([body.data.user_id, body.data.created_by_name], ['ada', null])
      assert.equal(await status(own, ada, 'DELETE'), 200)
      assert.equal(await status(own, service().admin), 404)
    })

    test('a key limited to one agent sees only the files that it uploaded', async () => {
      const agent_id = await createAgent(service(), 'reader')
      const { secret: key } = await createKey(service(), { role: 'admin', agent_id })
      const own = await uploaded(service(), 'of the agent', { key })
      const other = await uploaded(service(), 'of the project')
      assert.deepEqual(idsOf(await service().call('GET', '/v1/files', { key })), [own])
      assert.deepEqual([await status(own, key), await status(other, key)], [200, 404])
      assert.equal(await status(other, key, 'DELETE'), 404)
    })

    test('the same content in two projects is stored twice, and deleting one keeps the other', async () => {
      const [one, two] = [await makeProject('one'), await makeProject('two')]
      await untilSettled(service())
      const before = (await storedBytes(service())).length
      const [a, b] = [await uploaded(one, 'shared words'), await uploaded(two, 'shared words')]
      await untilStored(service(), before + 2)
      assert.equal((await one.call('GET', `/v1/files/${b}`)).status, 404)
      assert.equal((await one.call('DELETE', `/v1/files/${a}`)).status, 200)
      await untilStored(service(), before + 1)
      assert.deepEqual(idsOf(await two.call('GET', '/v1/files')), [b])
      const project = await service().call('GET', '/v1/projects/two')
      const deleted = await service().call('DELETE', `/v1/projects/${project.body.data.id}?name=two`)
      assert.equal(deleted.status, 200, deleted.text)
      await untilStored(service(), before)
      const db = storeOf(service())
      assert.deepEqual(await db.selectFrom('files').selectAll().where('id', '=', b).execute(), [])
    })

    test("exporting and erasing a user includes the user's files; another user keeps a file with the same content", async () => {
      await untilSettled(service())
      const before = (await storedBytes(service())).length
      const headers = { 'Idempotency-Key': 'of-eve' }
      const own = await uploaded(service(), 'only of eve', { query: '?user_id=eve&name=own.txt', headers })
      const shared = await uploaded(service(), 'of both', { query: '?user_id=eve' })
      const kept = await uploaded(service(), 'of both', { query: '?user_id=fay' })
      // Bytes that are there already are removed after the reply.
      await untilStored(service(), before + 2)
      const lines = (await service().call('GET', '/v1/users/eve/export')).text.trim().split('\n')
      const exported = lines.map((line) => JSON.parse(line))
      assert.deepEqual(
        exported.map(({ type, id }) => [type, id]),
        [
          ['file', own],
          ['file', shared],
        ],
      )
      assert.deepEqual([exported[0].name, exported[0].size], ['own.txt', 11])

      const agent_id = await createAgent(service(), 'narrow')
      const { secret } = await createKey(service(), { role: 'admin', agent_id })
      const narrow = await service().call('DELETE', '/v1/users/eve', { key: secret })
      assert.equal(narrow.body.data.files, 0, 'files belong to the project')

      const erased = await service().call('DELETE', '/v1/users/eve')
      assert.deepEqual([erased.status, erased.body.data.files], [200, 2], erased.text)
      assert.equal((await storedBytes(service())).length, before + 1, 'at once')
      assert.equal(await status(own, service().admin), 404)
      assert.equal((await download(service(), kept)).bytes.toString(), 'of both')
      const again = await upload(service(), 'only of eve', { query: '?user_id=eve&name=own.txt', headers })
      assert.equal(again.status, 404, 'the stored reply is gone too')
      assert.equal((await service().call('DELETE', '/v1/users/eve')).body.data.files, 0)
    })

    test('409 if a user or a project has reached its maximum of bytes', async () => {
      const small = await makeProject('small', { file_bytes: 1_000 })
      await uploaded(small, Buffer.alloc(600, 1))
      const full = await upload(small, Buffer.alloc(401, 2))
      assert.equal(full.status, 409)
      assert.match(full.body.error.message, /limits\.file_bytes/)
      // The size of each file counts, not what is stored. Otherwise a client could find out which content others have.
      assert.equal((await upload(small, Buffer.alloc(600, 1))).status, 409)
      await uploaded(small, Buffer.alloc(400, 2))

      await uploaded(service(), Buffer.alloc(3_000, 1), { query: '?user_id=gus' })
      const more = await upload(service(), Buffer.alloc(2_000, 1), { query: '?user_id=gus' })
      assert.equal(more.status, 409)
      assert.match(more.body.error.message, /files\.maxBytesPerUser/)
      await uploaded(service(), Buffer.alloc(3_000, 1), { query: '?user_id=hal' })
    })

    test('409 if a user or a project has reached its maximum of files', async () => {
      const many = await makeProject('many')
      const query = '?user_id=ida'
      const own: string[] = []
      for (let i = 0; i < 6; i++) own.push(await uploaded(many, `${i}`, { query }))
      const more = await upload(many, 'one more', { query })
      assert.equal(more.status, 409)
      assert.match(more.body.error.message, /files\.maxPerUser/)
      // A file with an expiry counts until it expires.
      await uploaded(many, 'brief', { query: '?expires_in_seconds=600' })
      const replies = await Promise.all(Array.from({ length: 20 }, (_, i) => upload(many, `at once ${i}`)))
      assert.equal(replies.filter((reply) => reply.status === 201).length, 13)
      const full = await upload(many, 'one more')
      assert.equal(full.status, 409)
      assert.match(full.body.error.message, /files\.maxPerProject/)
      assert.equal((await many.call('DELETE', `/v1/files/${own[0]}`)).status, 200)
      await uploaded(many, 'there is room again', { query })
      await uploaded(service(), 'in another project', { query })
      assert.equal((await many.call('DELETE', '/v1/users/ida')).body.data.files, 6)
      assert.deepEqual(await countsOf('many', 'ida'), [14, 0])
    })

    test("expired files don't count toward the limits, even before they are deleted", async () => {
      const brief = await makeProject('brief', { file_bytes: 1_000 })
      const query = '?user_id=joy&expires_in_seconds=60'
      for (let i = 0; i < 6; i++) await uploaded(brief, `${i}`, { query })
      assert.equal((await upload(brief, 'one more', { query })).status, 409)
      service().advance(61_000)
      await uploaded(brief, 'there is room for a file', { query })
      await uploaded(brief, Buffer.alloc(900, 1), { query: '?expires_in_seconds=60' })
      assert.equal((await upload(brief, Buffer.alloc(900, 2))).status, 409)
      service().advance(61_000)
      await uploaded(brief, Buffer.alloc(900, 2))
      assert.deepEqual(await countsOf('brief', 'joy'), [1, 0])
    })

    const countsOf = async (name: string, user_id: string) => {
      const db = storeOf(service())
      const project = db.selectFrom('projects').select('id as project_id').where('name', '=', name)
      const { project_id } = await project.executeTakeFirstOrThrow()
      const counts = [await files.count(db, { project_id }), await files.count(db, { project_id, user_id })]
      return counts.map((count) => count.files)
    }

    test('simultaneous uploads never exceed the limit together, and share their content', async () => {
      const tight = await makeProject('tight', { file_bytes: 500 })
      await untilSettled(service())
      const before = (await storedBytes(service())).length
      const replies = await Promise.all(Array.from({ length: 12 }, () => upload(tight, Buffer.alloc(100, 9))))
      assert.equal(replies.filter((reply) => reply.status === 201).length, 5)
      assert.equal(replies.filter((reply) => reply.status === 409).length, 7)
      await untilStored(service(), before + 1)
    })

    test('uploading and deleting the same content at the same time never deadlocks, and leaves nothing behind', async () => {
      const busy = await makeProject('busy')
      await untilSettled(service())
      const before = (await storedBytes(service())).length
      const comeAndGo = async (_: unknown, i: number) => {
        for (let round = 0; round < 4; round++) {
          const id = await uploaded(busy, Buffer.alloc(100, 7), { query: `?user_id=user-${i % 2}` })
          const gone = await busy.call('DELETE', `/v1/files/${id}`)
          assert.equal(gone.status, 200, gone.text)
        }
      }
      await Promise.all(Array.from({ length: 8 }, comeAndGo))
      await untilStored(service(), before)
      assert.deepEqual(await countsOf('busy', 'user-0'), [0, 0])
    })

    test("files from an agent's runs move to another project with the agent; shared content stays", async () => {
      const [old, fresh] = [await makeProject('left'), await makeProject('entered')]
      await untilSettled(service())
      const before = (await storedBytes(service())).length
      const agent = await createAgent(old, 'mover')
      const stays = await uploaded(old, 'shared words', { query: '?user_id=ada' })
      const attach = (text: string) => ({ data: Buffer.from(text).toString('base64'), media_type: 'text/plain' })
      const attachments = [attach('shared words'), attach('own words')]
      const body = { message: 'read', attachments, context: { user_id: 'ada' } }
      const said = await old.call('POST', `/v1/agents/${agent}/invoke`, { body })
      assert.equal(said.status, 200, said.text)
      const path = `/v1/agents/${agent}/invocations/${said.body.data.request_id}`
      const brought = (await old.call('GET', path)).body.data.attachments.map(
        (file: { file_id: string }) => file.file_id,
      )
      const moved = await old.call('POST', `/v1/agents/${agent}/move`, { body: { project: 'entered' } })
      assert.equal(moved.status, 200, moved.text)

      const countsIn = async (project: string, user_id?: string) => {
        const { id } = (await service().call('GET', `/v1/projects/${project}`)).body.data
        const db = storeOf(service())
        return Object.values(await files.count(db, { project_id: id, ...(user_id && { user_id }) }))
      }
      assert.deepEqual(
        [await countsIn('left'), await countsIn('left', 'ada')],
        [
          [1, 12],
          [1, 12],
        ],
      )
      assert.deepEqual(
        [await countsIn('entered'), await countsIn('entered', 'ada')],
        [
          [2, 21],
          [2, 21],
        ],
      )
      assert.deepEqual(idsOf(await old.call('GET', '/v1/files')), [stays])
      assert.deepEqual(idsOf(await fresh.call('GET', '/v1/files')).toSorted(), brought.toSorted())
      assert.equal((await old.call('DELETE', `/v1/files/${stays}`)).status, 200)
      await untilStored(service(), before + 2)
      const [shared] = brought
      const headers = { 'Moorage-Project': 'entered' }
      assert.equal((await download(service(), shared, { headers })).bytes.toString(), 'shared words')
      for (const id of brought) assert.equal((await fresh.call('DELETE', `/v1/files/${id}`)).status, 200)
      await untilStored(service(), before)
      assert.deepEqual(
        [await countsIn('left'), await countsIn('entered', 'ada')],
        [
          [0, 0],
          [0, 0],
        ],
      )
    })

    test("files count toward a project's stored_bytes", async () => {
      const measured = await makeProject('measured', { stored_bytes: 500 })
      await uploaded(measured, Buffer.alloc(600, 1))
      service().advance(61_000)
      wakeJobs(service())
      await until('the project is measured', async () => {
        const { body } = await service().call('GET', '/v1/projects/measured')
        return body.data.stored_bytes === 600
      })
      const reply = await upload(measured, 'x')
      assert.equal(reply.status, 409)
      assert.match(reply.body.error.message, /limits.stored_bytes/)
    })
  },
  { ...JWT_SETTINGS, MOORAGE_FILES__MAX_BYTES_PER_USER: '4KiB', ...FEW_FILES },
)
