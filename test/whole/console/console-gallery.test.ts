import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GALLERY } from '../../../gallery/gallery.ts'
import { inConsole } from '../../support/console/console.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../../support/outside/local-server.ts'
import { createKey } from '../../support/slices/resources.ts'

inConsole(
  'examples of the gallery',
  (visit, service) => {
    let tools: LocalServer
    before(async () => {
      tools = await startLocalServer((request, response) => response.end(`asked ${request.url}`))
    })
    after(() => tools.close())

    const titleOf = (id: string) => GALLERY.find((example) => example.id === id)?.title ?? assert.fail(id)
    const answerOf = async (agent: string, message: string) =>
      (await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message } })).body.data.response

    async function install(id: string, name: string) {
      const { page, leave } = await visit('/?open=agent')
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name', { exact: true }).fill(name)
      await dialog.getByText(titleOf(id), { exact: true }).click()
      const url = dialog.getByLabel('Server URL')
      if (await url.count()) await url.fill(`${tools.url}/`)
      await dialog.getByRole('button', { name: 'Create agent' }).click()
      return { page, leave }
    }

    for (const [id, path] of [
      ['support-desk', '/orders?order=Where%20is%20order%201042%3F'],
      ['document-questions', '/search?question=Where%20is%20order%201042%3F'],
    ] as const) {
      test(`${id} is created with the URL of its tools, and answers`, async () => {
        const { page, leave } = await install(id, `our-${id}`)
        await page.waitForURL(`**/agents/our-${id}`)
        assert.equal(await answerOf(`our-${id}`, 'Where is order 1042?'), `asked ${path}`)
        await leave()
      })
    }

    test('nightly-report is created with its schedule', async () => {
      const { page, leave } = await install('nightly-report', 'report')
      await page.waitForURL('**/agents/report')
      assert.match(await answerOf('report', 'Now'), /asked \/figures$/)
      const { data } = (await service().call('GET', '/v1/agents/report/schedules')).body
      assert.deepEqual(
        data.map(({ name, cron }: { name: string; cron: string }) => [name, cron]),
        [['nightly', '0 2 * * *']],
      )
      await leave()
    })

    test('agents that call each other are all created', async () => {
      const { page, leave } = await install('triage', 'reception')
      await page.waitForURL('**/agents/reception')
      assert.match(await answerOf('reception', 'My invoice, please'), /^Billing: /)
      await leave()
    })

    test('the secret of a remote agent is shown once, and set', async () => {
      const { page, leave } = await install('langgraph', 'graph')
      const dialog = page.getByRole('dialog', { name: 'Signing secret' })
      await dialog.getByText(/^whsec_[A-Za-z0-9+/]{43}=$/).waitFor()
      const done = dialog.getByRole('button', { name: 'Done' })
      assert.equal(await done.isDisabled(), true)
      await dialog.getByLabel("I've stored it").check()
      await done.click()
      await page.waitForURL('**/agents/graph')
      const { data } = (await service().call('GET', '/v1/agents/graph')).body
      assert.equal(data.remote.secret, 'REMOTE_GRAPH')
      const secrets = (await service().call('GET', '/v1/secrets')).body.data
      assert.deepEqual(
        secrets.map(({ name, hosts }: { name: string; hosts: string[] }) => [name, hosts]),
        [['REMOTE_GRAPH', ['127.0.0.1']]],
      )
      await leave()
    })

    test('a reader who cannot set secrets is not offered the remote agent', async () => {
      const { secret } = await createKey(service(), { role: 'developer' })
      const { page, leave } = await visit('/?open=agent', { key: secret })
      const dialog = page.getByRole('dialog')
      await dialog.getByText(titleOf('triage'), { exact: true }).waitFor()
      assert.equal(await dialog.getByText(titleOf('langgraph'), { exact: true }).count(), 0)
      await leave()
    })
  },
  { settings: LOCAL_TOOLS },
)
