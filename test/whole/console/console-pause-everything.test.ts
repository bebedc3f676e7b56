import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { until } from '../../support/running/until.ts'
import { inProject } from '../../support/service/service.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

inConsole('pausing everything in the console', (visit, service) => {
  const paused = async () => (await service().call('GET', '/v1/pause')).body.data

  test('Pause everything asks for a reason, a banner shows it on every page, and Resume ends the pause', async () => {
    await createAgent(service(), 'bosun')
    const { page, go, leave } = await visit('/', { isHurried: true })
    // What stops everything is not beside what is done every day.
    await page.getByRole('button', { name: 'New agent' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Pause everything …' }).count(), 0)
    await go('/system')
    await page.getByRole('button', { name: 'Pause everything …' }).click()
    const dialog = page.getByRole('dialog', { name: 'Pause everything' })
    // There are no projects here, so nothing speaks of them.
    assert.equal(await dialog.getByText(/project/i).count(), 0)
    await dialog.getByLabel('Reason').fill('The bosun whistles without end')
    await dialog.getByRole('button', { name: 'Pause service' }).click()
    const banner = page.getByRole('alert', { name: 'The service is paused' })
    await banner.getByText('The bosun whistles without end').waitFor()
    assert.equal((await paused()).service.reason, 'The bosun whistles without end')
    await page.getByRole('button', { name: 'Pause everything …' }).waitFor({ state: 'hidden' })
    for (const path of ['/agents/bosun', '/activity', '/system', '/keys']) {
      await go(path)
      await banner.getByText('The bosun whistles without end').waitFor()
    }
    const { status, body } = await service().call('POST', '/v1/agents/bosun/invoke', { body: { message: 'hi' } })
    assert.deepEqual([status, body.error.code], [409, 'agent_paused'])
    await banner.getByRole('button', { name: 'Resume' }).click()
    await page.getByText('Service resumed').waitFor()
    await banner.waitFor({ state: 'hidden' })
    assert.equal((await paused()).paused, false)
    await leave()
  })

  test("a project is paused from the palette, and a key that can't resume it sees why", async () => {
    await service().call('POST', '/v1/projects', { body: { name: 'harbour' } })
    const { page, leave } = await visit('/activity', { isHurried: true })
    await page.getByRole('heading', { name: 'Activity', exact: true }).waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /paste an ID/ }).fill('pause everything')
    await page.getByRole('option', { name: 'Pause everything', selected: true }).waitFor()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: 'Pause everything' })
    // All projects are paused only if the person says so.
    await dialog.getByRole('button', { name: 'Pause project' }).waitFor()
    await dialog.getByRole('button', { name: 'The whole service' }).click()
    await dialog.getByRole('button', { name: 'Pause service' }).waitFor()
    await dialog.getByRole('button', { name: 'This project' }).click()
    await dialog.getByLabel('Reason').fill('The bill')
    await dialog.getByRole('button', { name: 'Pause project' }).click()
    const banner = page.getByRole('alert', { name: 'The project is paused' })
    await banner.waitFor()
    const viewer = await createKey(service(), { role: 'viewer' })
    const other = await visit('/', { key: viewer.secret, isHurried: true })
    const told = other.page.getByRole('alert', { name: 'The project is paused' })
    await told.getByText('The bill').waitFor()
    assert.equal(await told.getByRole('button', { name: 'Resume' }).count(), 0)
    assert.equal(await other.page.getByRole('button', { name: 'Pause everything …' }).count(), 0)
    await other.leave()
    // Another person ends it, and the banner goes by itself.
    await service().call('POST', '/v1/resume')
    await banner.waitFor({ state: 'hidden' })
    await leave()
  })

  test("a project's pause is shown when the project is selected, and hidden for other projects", async () => {
    await service().call('POST', '/v1/projects', { body: { name: 'yard' } })
    const pause = await inProject(service(), 'yard').call('POST', '/v1/pause', { body: { reason: 'Repairs' } })
    assert.equal(pause.status, 200, pause.text)
    // Nothing is asked a second time because time has passed.
    const { page, asked, leave } = await visit('/?project=default', { isStill: true })
    await until('the page knows what is paused', () => asked().includes('GET /v1/pause'))
    const banner = page.getByRole('alert', { name: 'The project is paused' })
    assert.equal(await banner.count(), 0)
    const project = page.getByRole('combobox', { name: 'Project', exact: true })
    await project.selectOption('yard')
    await banner.getByText('Repairs').waitFor()
    await project.selectOption('default')
    await banner.waitFor({ state: 'hidden' })
    await leave()
  })
})
