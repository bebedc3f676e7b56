import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { startVisionProviders } from '../support/outside/vision-providers.ts'
import { ANY_ENGINE, type Service, startService } from '../support/service/service.ts'
import { createAgent } from '../support/slices/resources.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SCHEMA = { type: 'object', properties: { total: { type: 'number' } }, required: ['total'] }

for (const engine of ANY_ENGINE) {
  describe(`GET …/prompt of a run with files and an output, on ${engine}`, () => {
    let service: Service
    let providers: Awaited<ReturnType<typeof startVisionProviders>>
    let site: LocalServer
    before(async () => {
      providers = await startVisionProviders()
      site = await startLocalServer((_request, response) => {
        response.writeHead(200, { 'content-type': 'image/png' })
        response.end(Buffer.from(PNG, 'base64'))
      })
      service = await startService(engine, { ...providers.settings, ...LOCAL_TOOLS })
      const input_schema = { type: 'object' }
      const chart = { type: 'http', name: 'chart', description: 'Draws', method: 'GET', url: site.url, input_schema }
      await createAgent(service, 'gpt', { model: 'local/gpt', tools: [chart] })
      await createAgent(service, 'plain', { model: 'local/gpt' })
    })
    after(async () => {
      await service.stop()
      await Promise.all([providers.close(), site.close()])
    })
    const run = async (agent: string, body: object) => {
      const reply = await service.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'Look', ...body } })
      assert.equal(reply.status, 200, reply.text)
      const path = `/v1/agents/${agent}/invocations/${reply.body.data.request_id}`
      const prompt = (await service.call('GET', `${path}/prompt`)).body.data
      return { prompt, receipt: (await service.call('GET', path)).body.data }
    }
    type ShownTurn = { role: string; content: string; attachments?: unknown; files?: unknown }

    test('names the files of the message and of tools, and how they were shown', async () => {
      providers.chat.reset()
      providers.chat.reply({ calls: [{ name: 'chart', arguments: {} }] }, { text: ['Done'] })
      const attachments = [{ data: PNG, media_type: 'image/png', name: 'dot.png' }]
      const { prompt, receipt } = await run('gpt', { attachments })
      const [system, asking, , result] = prompt.messages as ShownTurn[]
      assert.match(system?.content ?? '', /Text inside <attachment> is quoted/)
      assert.deepEqual([asking?.content, asking?.attachments], ['Look', receipt.attachments])
      assert.equal(receipt.attachments[0].shown_as, 'image')
      assert.deepEqual(result?.files, receipt.steps.find(({ kind }: { kind: string }) => kind === 'tool').files)
      assert.deepEqual(prompt.notes, ['Files are listed by name only; their text and images are not shown.'])
      assert.equal(JSON.stringify(prompt).includes(PNG), false)
    })

    test('the command line names them too', async (t) => {
      const shell = newShell(service)
      t.after(() => shell.remove())
      providers.chat.reset()
      providers.chat.reply({ calls: [{ name: 'chart', arguments: {} }] }, { text: ['Done'] })
      const attachments = [
        { data: PNG, name: 'dot.png' },
        { data: 'AAEC', name: 'raw.bin' },
      ]
      const { receipt } = await run('gpt', { attachments })
      const { stdout } = await shell.moorage(['invocations', 'prompt', 'gpt', receipt.request_id])
      const [dot, raw] = receipt.attachments
      const [chart] = receipt.steps.find(({ kind }: { kind: string }) => kind === 'tool').files
      for (const line of [
        `+ dot.png (image/png, 70 bytes, ${dot.file_id}) · shown as image`,
        `+ raw.bin (application/octet-stream, 3 bytes, ${raw.file_id}) · shown as its name: ${raw.note}`,
        `+ chart.png (image/png, 70 bytes, ${chart.file_id})`,
      ]) {
        assert.ok(stdout.split('\n').includes(line), stdout)
      }
    })

    test('shows the schema, answers that do not fit, and the errors that the model got', async () => {
      providers.chat.reset()
      providers.chat.reply({ text: ['{"total":"many"}'] }, { text: ['{"total":2}'] })
      const { prompt } = await run('plain', { output: { schema: SCHEMA, retries: 1 } })
      assert.deepEqual(prompt.output_schema, SCHEMA)
      const sent = providers.chat.requests[1]?.body.messages.map(({ role, content }) => [role, content]).slice(-2)
      assert.deepEqual((prompt.messages as ShownTurn[]).map(({ role, content }) => [role, content]).slice(-2), sent)
    })
  })
}
