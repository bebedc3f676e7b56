import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAccess } from './support/clients/check-access.ts'
import { inConsole } from './support/console/console.ts'

inConsole('deployments in the console', (visit, service) => {
  const serves = async () => {
    const { body } = await service().call('GET', '/v1/agents/hello/deployments?status=active')
    return body.data.map(({ version }: { version: string }) => version)
  }

  test('deploys the working copy, rolls it back after showing what changes, and undoes that', async () => {
    const { page, leave } = await visit('/agents/hello/deployments')
    await page.getByText('Nothing was deployed yet').waitFor()
    await page.getByRole('button', { name: 'Deploy' }).click()
    await page.getByRole('button', { name: 'Deploy v1 to production' }).click()
    await page.getByText('production serves v1 now').waitFor()
    await page.goto(`${page.url()}?open=rollback`)
    await page.getByRole('dialog').getByText('there is nothing to return to').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await service().call('PATCH', '/v1/agents/hello', { body: { temperature: 0.7 } })
    await page.reload()
    await page.getByText('the working copy has changes').waitFor()
    await page.getByRole('button', { name: 'Deploy' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('temperature: 0.7').waitFor()
    await dialog.getByRole('button', { name: 'Deploy v2 to production' }).click()
    await page.getByText('production serves v2 now').waitFor()
    assert.deepEqual(await serves(), ['v2'])

    await page.getByRole('button', { name: 'Roll back' }).click()
    await dialog.getByText('Runs under way finish on v2').waitFor()
    await dialog.getByText('temperature: 0.7').waitFor()
    await checkAccess(page)
    await dialog.getByLabel('Reason').fill('too warm')
    await dialog.getByRole('button', { name: 'Serve v1' }).click()
    await page.getByText('production serves v1 again').waitFor()
    assert.deepEqual(await serves(), ['v1'])
    await page.getByText('too warm').waitFor()
    // v2 was rolled back: the service would refuse to return to that deployment.
    assert.equal(await page.getByRole('button', { name: 'Return to it' }).count(), 0)

    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('production serves v2 as before').waitFor()
    assert.deepEqual(await serves(), ['v2'])
    await leave()
  })

  test('what will fail of a version is shown until the reader has seen it', async () => {
    const tools = [{ type: 'http', name: 'near', url: 'http://127.0.0.1:3000/' }]
    await service().call('POST', '/v1/agents', { body: { name: 'cabled', tools } })
    const { page, leave } = await visit('/agents/cabled/deployments?open=deploy')
    await page.getByRole('button', { name: 'Deploy v1 to production' }).click()
    const dialog = page.getByRole('dialog', { name: 'production serves v1' })
    await dialog.getByText('Tool near will fail: url must use https').waitFor()
    await checkAccess(page)
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await leave()
  })

  test('says why a deployment is refused, beside the field', async () => {
    const { page, leave, expect } = await visit('/agents/hello/deployments')
    expect(/status of 4\d\d/)
    await page.getByRole('button', { name: 'Deploy', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Version').fill('x'.repeat(300))
    await dialog.getByRole('button', { name: /^Deploy x+/ }).click()
    await dialog.getByRole('alert').getByText('invalid_request').waitFor()
    await leave()
  })
})
