import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { holdRuns } from '../../support/service/held-runs.ts'
import { untilStatus } from '../../support/slices/approvals.ts'
import { createAgent } from '../../support/slices/resources.ts'

inConsole(
  'pausing an agent in the console',
  (visit, service) => {
    test('the dialog says how many runs will be cancelled, and Cancel keeps them running', async (t) => {
      const held = await holdRuns(t)
      const agent = held.agent as { tools: object[]; script: { rules: object[] } }
      await createAgent(service(), 'winch', {
        ...agent,
        tools: [...agent.tools, { type: 'ask_person' }],
        script: {
          rules: [
            { match: { contains: 'ask' }, call: { tool: 'ask_person', arguments: { question: 'Up or down?' } } },
            ...agent.script.rules,
          ],
        },
        limits: { max_concurrency: 1 },
      })
      const begin = async (message: string, status: string) => {
        const headers = { Prefer: 'respond-async' }
        const { body } = await service().call('POST', '/v1/agents/winch/invoke', { body: { message }, headers })
        const path = `/v1/agents/winch/invocations/${body.data.request_id}`
        await untilStatus(service(), path, status)
        return path
      }
      const runs = [await begin('ask me', 'waiting'), await begin('ask me again', 'waiting')]
      runs.push(await begin('go up', 'running'))
      await until('the run has come to its tool', async () => held.count() === 1)
      const { page, leave } = await visit('/agents/winch/settings', { isHurried: true })
      await page.getByText('Cancels its active runs, rejects new messages, and pauses its schedules.').waitFor()
      const pause = page.getByRole('button', { name: 'Pause …' })
      await pause.click()
      const dialog = page.getByRole('dialog', { name: 'Pause agent' })
      const three = "3 runs are cancelled immediately: 1 running, 2 waiting. This can't be undone."
      await dialog.getByText(three).waitFor()
      runs.push(await begin('go down', 'queued'))
      const four = "4 runs are cancelled immediately: 1 running, 1 queued, 2 waiting. This can't be undone."
      await dialog.getByText(four).waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      await dialog.waitFor({ state: 'hidden' })
      const { body } = await service().call('GET', '/v1/agents/winch')
      assert.equal(body.data.status, 'running')

      await pause.click()
      await dialog.getByRole('button', { name: 'Pause agent' }).click()
      await page.getByText('winch paused').waitFor()
      for (const path of runs) await untilStatus(service(), path, 'cancelled')
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('winch resumed').waitFor()
      await pause.click()
      await dialog.getByText('No runs are active. Any run that starts before you pause is cancelled.').waitFor()
      await leave()
    })

    test('the palette opens the same dialog', async () => {
      await createAgent(service(), 'capstan')
      const { page, leave } = await visit('/agents/capstan')
      await page.getByRole('heading', { name: 'capstan' }).waitFor()
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: /paste an ID/ }).fill('capstan pause')
      await page.getByRole('option', { name: 'capstan › Pause', selected: true }).waitFor()
      await page.keyboard.press('Enter')
      await page.getByRole('dialog', { name: 'Pause agent' }).getByRole('button', { name: 'Cancel' }).click()
      assert.equal((await service().call('GET', '/v1/agents/capstan')).body.data.status, 'running')
      await leave()
    })
  },
  { settings: LOCAL_TOOLS },
)
