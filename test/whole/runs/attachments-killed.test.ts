import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { LOCAL_TOOLS, startLocalServer } from '../../support/outside/local-server.ts'
import { startModelServer } from '../../support/outside/model-server.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'
import { endLeases } from '../../support/service/end-leases.ts'
import { ENGINES } from '../../support/service/service.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SHOWN = { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } }
const DRAWN = Buffer.concat([Buffer.from(PNG, 'base64'), Buffer.from('drawn')])

/** Where each agent's run is when the process dies. */
const AGENTS = ['unanswered', 'speaking', 'calling'] as const

for (const engine of ENGINES) {
  test(`kill -9 in runs with attachments: they continue, and nothing is left over, on ${engine}`, async (t) => {
    const models = await Promise.all(AGENTS.map(() => startModelServer()))
    t.after(() => Promise.all(models.map(({ close }) => close())))
    let drawn = 0
    const site = await startLocalServer((_request, response) => {
      drawn++
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': DRAWN.length })
      // The process dies while the first drawing comes.
      if (drawn === 1) response.write(DRAWN.subarray(0, 40))
      else response.end(DRAWN)
    })
    t.after(() => site.close())
    const service = await startChildService({ after: (end) => t.after(end) }, engine, {
      MOORAGE_PROVIDERS: JSON.stringify(models.map(({ url }, i) => ({ name: AGENTS[i], baseUrl: url }))),
      ...LOCAL_TOOLS,
      LOG_LEVEL: 'info',
    })
    const end = { text: ['Seen'] }
    models[0]?.reply({ text: [], breaks: 'silence' }, end)
    models[1]?.reply({ text: ['I see '], breaks: 'silence' }, end)
    models[2]?.reply({ calls: [{ name: 'draw', arguments: {} }] }, end)
    const input_schema = { type: 'object' }
    const draw = { type: 'http', name: 'draw', description: 'Draws', method: 'GET', url: site.url, input_schema }
    const paths: string[] = []
    for (const name of AGENTS) {
      await service.call('POST', '/v1/agents', { name, model: `${name}/tiny`, tools: [draw] })
      const body = { message: 'Look', attachments: [{ data: PNG, media_type: 'image/png' }] }
      const reply = await service.send('POST', `/v1/agents/${name}/invoke`, body, { Prefer: 'respond-async' })
      paths.push(`/v1/agents/${name}/invocations/${reply?.body.data.request_id}`)
    }
    await until('every run is where it is to be', () => drawn === 1 && models.every((one) => one.requests.length > 0))
    await until('the drawing comes', async () => {
      if (engine === 'sqlite') return (await readdir(join(service.data, 'files'))).length === 2
      let coming = 0
      await service.inStore(async (db) => {
        coming = (await db.selectFrom('blobs').select('id').where('state', '=', 'incoming').execute()).length
      })
      return coming === 1
    })
    await service.kill()
    if (engine === 'postgres') await service.inStore(endLeases)
    await service.start()

    const bytesOf = async (file_id: string) =>
      Buffer.from(await (await service.open(`/v1/files/${file_id}/content`)).arrayBuffer())
    for (const [i, path] of paths.entries()) {
      await until(`${AGENTS[i]} goes on`, async () => (await service.call('GET', path)).data.status === 'completed')
      const { data } = await service.call('GET', path)
      const [attachment] = data.attachments
      assert.equal(attachment.shown_as, 'image')
      assert.equal((await bytesOf(attachment.file_id)).toString('base64'), PNG)
      const asked = models[i]?.requests.at(-1)?.body.messages.find(({ role }) => role === 'user')
      assert.deepEqual(asked?.content, [{ type: 'text', text: 'Look' }, SHOWN])
      const made = data.steps.flatMap(({ files = [] }: { files?: { file_id: string }[] }) => files)
      assert.equal(made.length, AGENTS[i] === 'calling' ? 1 : 0)
      for (const { file_id } of made) assert.deepEqual(await bytesOf(file_id), DRAWN)
    }

    await service.terminate()
    await service.inStore(async (db) => {
      const cut = await db.selectFrom('blobs').select('id').where('state', '=', 'incoming').execute()
      assert.equal(cut.length, 1, 'the drawing that was cut off')
      await db.updateTable('blobs').set({ created_at: 0 }).where('state', '=', 'incoming').execute()
      await db.updateTable('jobs').set({ run_at: 0 }).where('id', '=', 'retention').execute()
    })
    await service.start()
    await until('all is swept', () => /bytes of removed files/.test(service.output()))
    await service.terminate()
    await service.inStore(async (db) => {
      const blobs = await db.selectFrom('blobs').select('state').execute()
      assert.deepEqual(blobs, [{ state: 'kept' }, { state: 'kept' }])
      const files = await db.selectFrom('files').select('unclaimed').execute()
      assert.deepEqual(
        files,
        Array.from({ length: 4 }, () => ({ unclaimed: 0 })),
      )
    })
  })
}
