import { describe, test } from 'node:test'
import { openBrowser, withoutChromium } from '../../support/console/console.ts'
import { watchWorld } from '../../support/outside/watched-world.ts'
import { until } from '../../support/running/until.ts'
import { startChildService } from '../../support/service/child-service.ts'

describe('the page of a request whose service died', { skip: withoutChromium() }, () => {
  test('says how many attempts there were, and of each that a node had died', async (t) => {
    const world = await watchWorld(t, [{ calls: ['refund'] }, { text: 'All is done.' }])
    const service = await startChildService(t, 'sqlite', world.settings)
    await service.call('POST', '/v1/agents', {
      name: 'clerk',
      model: 'local/tiny',
      tools: [{ type: 'http', name: 'refund', method: 'POST', url: `${world.url}/refund`, retry: 'safe' }],
    })
    const deaths = ['refund', 'refund', 'model 2']
    let held = world.hold('refund')
    const { data } = await service.call(
      'POST',
      '/v1/agents/clerk/invoke',
      { message: 'go' },
      { Prefer: 'respond-async' },
    )
    for (const i of deaths.keys()) {
      await held
      await service.kill()
      held = world.hold(deaths[i + 1] ?? 'nothing more')
      await service.start()
    }
    const path = `/v1/agents/clerk/invocations/${data.request_id}`
    await until('the answer', async () => (await service.call('GET', path)).data.status === 'completed')

    const browser = await openBrowser()
    t.after(() => browser.close())
    const at = { url: service.url(), admin: service.admin }
    const { page, leave } = await browser.visit(at, `/activity/${data.request_id}`)
    await page.getByText('All is done.').waitFor()
    await page.getByText('Attempts', { exact: true }).waitFor()
    const steps = page.getByRole('list').filter({ hasText: 'refund' })
    for (const attempt of [2, 3, 4]) {
      await steps.getByText(`Attempt ${attempt}: the node that ran the previous attempt stopped or failed`).waitFor()
    }
    await leave()
  })
})
