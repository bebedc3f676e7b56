import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'

inConsole('deployments in the console', (visit, service) => {
  const serves = async () => {
    const { body } = await service().call('GET', '/v1/agents/hello/deployments?status=active')
    return body.data.map(({ version }: { version: string }) => version)
  }

  test('deploys the working copy, rolls it back after showing what changes, and undoes that', async () => {
    const { page, leave } = await visit('/agents/hello/deployments')
    await page.getByText('No deployments yet').waitFor()
    await page.getByRole('button', { name: 'Deploy' }).click()
    await page.getByRole('button', { name: 'Deploy v1 to production' }).click()
    await page.getByText('production now serves v1').waitFor()
    await page.goto(`${page.url()}?open=rollback`)
    await page.getByRole('dialog').getByText('There is no version to return to').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await service().call('PATCH', '/v1/agents/hello', { body: { temperature: 0.7 } })
    await page.reload()
    await page.getByText('the draft has changes').waitFor()
    await page.getByRole('button', { name: 'Deploy' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('temperature: 0.7').waitFor()
    await dialog.getByRole('button', { name: 'Deploy v2 to production' }).click()
    await page.getByText('production now serves v2').waitFor()
    assert.deepEqual(await serves(), ['v2'])

    await page.getByRole('button', { name: 'Roll back' }).click()
    await dialog.getByText('Active runs finish on v2').waitFor()
    await dialog.getByText('temperature: 0.7').waitFor()
    await checkAccess(page)
    await dialog.getByLabel('Reason').fill('too warm')
    await dialog.getByRole('button', { name: 'Serve v1' }).click()
    await page.getByText('production serves v1 again').waitFor()
    assert.deepEqual(await serves(), ['v1'])
    await page.getByText('too warm').waitFor()
    // v1 is all that is left.
    assert.equal(await page.getByRole('button', { name: 'Roll back' }).count(), 0)

    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByText('production serves v2 as before').waitFor()
    assert.deepEqual(await serves(), ['v2'])
    await leave()
  })

  test('after a rollback, a free label is suggested, and the rolled-back version can be deployed again', async () => {
    await service().call('POST', '/v1/agents', { body: { name: 'turning' } })
    const deploy = async (version: string, temperature: number) => {
      await service().call('PATCH', '/v1/agents/turning', { body: { temperature } })
      const body = { environment: 'production', version }
      const { data } = (await service().call('POST', '/v1/agents/turning/deployments', { body })).body
      return data.id as string
    }
    const rollback = async (id: string) =>
      (await service().call('POST', `/v1/agents/turning/deployments/${id}/rollback`)).body.data.id as string
    await deploy('v8', 0.1)
    await deploy('v9', 0.2)
    await rollback(await rollback(await deploy('v10', 0.3)))
    const { page, leave } = await visit('/agents/turning/deployments')
    await page.getByText('since').waitFor()
    const rows = page.getByRole('row')
    await rows.nth(1).waitFor()
    // Production is at v8, and all that was served since was rolled back.
    assert.equal(await page.getByRole('button', { name: 'Roll back' }).count(), 0)
    await page.getByRole('button', { name: 'Deploy', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Deploy v11 to production' }).waitFor()
    await dialog.getByText('from v8, the current version, to the draft').waitFor()
    await dialog.getByLabel('Version').fill('v9')
    await dialog.getByText('v9 already exists and differs from the draft').waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('row', { name: /^v10/ }).getByRole('button', { name: 'Return to this version' }).click()
    await dialog.getByText('temperature: 0.3').waitFor()
    await checkAccess(page)
    await dialog.getByRole('button', { name: 'Serve v10' }).click()
    await page.getByText('production serves v10 again').waitFor()
    await page.getByRole('button', { name: 'Roll back' }).waitFor()
    await leave()
  })

  test('a rollback is offered only if the environment has an earlier version', async () => {
    await service().call('POST', '/v1/agents', { body: { name: 'apart' } })
    const deploy = async (environment: string, version: string) => {
      const reply = await service().call('POST', '/v1/agents/apart/deployments', { body: { environment, version } })
      assert.equal(reply.status, 201, reply.text)
    }
    await deploy('staging', 'v1')
    // Production has served one version only, twice.
    for (const environment of ['production', 'production']) await deploy(environment, 'v2')
    await deploy('staging', 'v2')
    const { page, leave } = await visit('/agents/apart/deployments')
    const rollbackOf = (environment: string) =>
      page
        .getByRole('row', { name: new RegExp(`^v2.*${environment}.*active`) })
        .getByRole('button', { name: 'Roll back' })
    await rollbackOf('staging').waitFor()
    assert.equal(await rollbackOf('production').count(), 0)
    await leave()
  })

  test('the suggested label is free, even if an older version was deployed last', async () => {
    await service().call('POST', '/v1/agents', { body: { name: 'skipping' } })
    for (const [i, version] of ['v10', 'v9'].entries()) {
      await service().call('PATCH', '/v1/agents/skipping', { body: { temperature: i / 10 } })
      const body = { environment: 'production', version }
      assert.equal((await service().call('POST', '/v1/agents/skipping/deployments', { body })).status, 201)
    }
    const { page, leave } = await visit('/agents/skipping/deployments?open=deploy')
    await page.getByRole('button', { name: 'Deploy v11 to production' }).waitFor()
    await leave()
  })

  test('the Deploy button is disabled until a label is suggested', async () => {
    await service().call('POST', '/v1/agents', { body: { name: 'hasty' } })
    const { page, leave } = await visit('/agents/hasty/deployments')
    const known = Promise.withResolvers<void>()
    await page.route(/\/deployments\?limit=100$/, async (route) => {
      await known.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Deploy' }).click()
    const deploy = page.getByRole('dialog').getByRole('button', { name: 'Deploy' })
    await deploy.waitFor()
    assert.ok(await deploy.isDisabled(), 'a click would be lost on an empty label')
    known.resolve()
    await deploy.click()
    await page.getByText('production now serves v1').waitFor()
    await leave()
  })

  test('warnings about a deployed version stay until the user closes them', async () => {
    const tools = [{ type: 'http', name: 'near', url: 'http://127.0.0.1:3000/' }]
    await service().call('POST', '/v1/agents', { body: { name: 'cabled', tools } })
    const { page, leave } = await visit('/agents/cabled/deployments?open=deploy')
    await page.getByRole('button', { name: 'Deploy v1 to production' }).click()
    const dialog = page.getByRole('dialog', { name: 'production serves v1' })
    await dialog.getByText('Tool near will fail: its URL must use https').waitFor()
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
    await dialog.getByText('Version must be 1 to 64 letters').waitFor()
    assert.equal(await dialog.getByRole('alert').count(), 0)
    await leave()
  })

  test('a gradual deployment is followed, paused, resumed, promoted and aborted', async () => {
    await service().call('POST', '/v1/agents', { body: { name: 'steady' } })
    const path = '/v1/agents/steady/deployments'
    await service().call('POST', path, { body: { environment: 'production', version: 'v1' } })
    const { page, leave } = await visit('/agents/steady/deployments')
    const deploy = async (version: string) => {
      await page.getByRole('button', { name: 'Deploy', exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Version').fill(version)
      await dialog.getByLabel('Steps').fill('10:30, 50:60')
      await dialog.getByRole('button', { name: `Deploy ${version} to production` }).click()
      await page.getByText(`production now serves ${version} for 10 %`).waitFor()
      return page.getByRole('region', { name: `${version} in production` })
    }
    const shown = await deploy('v2')
    await shown.getByText('Step 1 of 2').waitFor()
    await shown.getByRole('region', { name: 'Compared with v2' }).waitFor()
    await checkAccess(page)
    await shown.getByRole('button', { name: 'Pause' }).click()
    await shown.getByText('until you resume the deployment').waitFor()
    await shown.getByRole('button', { name: 'Resume' }).click()
    await shown.getByRole('button', { name: 'Pause' }).waitFor()
    await shown.getByRole('button', { name: 'Promote' }).click()
    await page.getByText('production now serves v2', { exact: true }).waitFor()
    await shown.waitFor({ state: 'detached' })

    const next = await deploy('v3')
    await next.getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort deployment' }).click()
    await next.waitFor({ state: 'detached' })
    const { body } = await service().call('GET', `${path}?sort=created_at`)
    assert.deepEqual(
      body.data.map(({ version, status }: { version: string; status: string }) => [version, status]),
      [
        ['v1', 'superseded'],
        ['v2', 'active'],
        ['v3', 'aborted'],
      ],
    )
    await leave()
  })
})

/** The clock of the service stands still: how long the reader takes does not matter. */
const NOW = Date.UTC(2026, 2, 2, 7)

inConsole(
  'deployments in the console of a user whose clock is slow',
  (visit, service) => {
    test('show a deployment from a moment ago as "just now"', async () => {
      await service().call('POST', '/v1/agents', { body: { name: 'prompt' } })
      const { page, leave } = await visit('/agents/prompt/deployments', { at: NOW - 20_000 })
      await page.getByText('No deployments yet').waitFor()
      await page.clock.setFixedTime(NOW - 3_000)
      await page.getByRole('button', { name: 'Deploy' }).click()
      await page.getByRole('button', { name: 'Deploy v1 to production' }).click()
      await page.getByText('since just now').waitFor()
      assert.equal(await page.getByText('in a moment').count(), 0)
      await leave()
    })
  },
  { now: () => NOW },
)
