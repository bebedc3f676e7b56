import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { checkAccess } from '../../support/clients/check-access.ts'
import { inConsole } from '../../support/console/console.ts'
import { untilHolds } from '../../support/running/until.ts'
import { inProject, type Service } from '../../support/service/service.ts'
import { createAgent, createKey } from '../../support/slices/resources.ts'

inConsole('projects in the console', (visit, service) => {
  const shop = () => inProject(service(), 'shop')
  const asked = async (project: Service, agent: string, message: string) => {
    const { status, text } = await project.call('POST', `/v1/agents/${agent}/invoke`, { body: { message } })
    assert.equal(status, 200, text)
  }
  before(async () => {
    await newProject(service(), 'shop', { description: 'Sells rope', limits: { requests_per_minute: 6_000 } })
    await createAgent(service(), 'twin', { description: 'of the harbour' })
    await createAgent(shop(), 'twin', { description: 'of the shop' })
    await createAgent(service(), 'pilot')
    await createAgent(shop(), 'clerk')
    await asked(service(), 'twin', 'said in the harbour')
    await asked(shop(), 'twin', 'said in the shop')
  })

  test('selecting one makes every page show its own data, and a reload and links keep it', async () => {
    const { page, context, expect, leave } = await visit('/')
    const sent = headersOf(page)
    await page.getByRole('link', { name: 'pilot' }).waitFor()
    assert.equal(await switcher(page).inputValue(), 'prj_default')
    await switcher(page).selectOption('shop')
    await page.getByRole('link', { name: 'clerk' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'pilot' }).count(), 0)
    assert.equal(new URL(page.url()).search, '?project=shop')

    await page.reload()
    await page.getByRole('link', { name: 'clerk' }).waitFor()
    sent.length = 0
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByText('said in the shop').waitFor()
    assert.equal(await page.getByText('said in the harbour').count(), 0)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /paste an ID/ }).fill('clerk')
    await page.getByRole('option', { name: 'clerk agent' }).click()
    await page.getByRole('heading', { name: 'clerk' }).waitFor()
    await page.getByLabel('Message').fill('Ahoy, clerk')
    await page.keyboard.press('Enter')
    await page.getByText('Ahoy, clerk').nth(1).waitFor()
    await page.getByRole('link', { name: 'Logs' }).click()
    await page.getByText('Invocation completed').first().waitFor()
    // Streams too: each request names it.
    assert.deepEqual([...new Set(sent)], [await idOf(service(), 'shop')])

    // In the API reference too.
    await page.getByRole('link', { name: 'API docs' }).click()
    await page.locator('#listAgents').getByRole('button', { name: 'Send' }).click()
    await page.locator('#listAgents .send .answer', { hasText: '"clerk"' }).waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'clerk' }).waitFor()

    // What a colleague opens, who was never here.
    const other = await visit(new URL(page.url()).pathname + new URL(page.url()).search)
    await other.page.getByRole('heading', { name: 'clerk' }).waitFor()
    assert.equal(await switcher(other.page).inputValue(), await idOf(service(), 'shop'))
    await other.leave()

    // Without a name in the address, it is the one of the last visit.
    const tab = await context.newPage()
    await tab.goto(service().url)
    await tab.getByRole('link', { name: 'clerk' }).waitFor()
    // It is written into the address, which is no step on the way back.
    await tab.goto(`${service().url}/activity`)
    await tab.waitForURL('**/activity?project=shop')
    await tab.goBack()
    assert.equal(new URL(tab.url()).pathname, '/')
    await tab.getByRole('link', { name: 'clerk' }).waitFor()
    await tab.close()

    // The agent is not in the other one.
    expect(/404/)
    await switcher(page).selectOption('default')
    await page.getByRole('link', { name: 'pilot' }).waitFor()
    assert.equal(new URL(page.url()).search, '?project=default')
    await page.goBack()
    await page.getByRole('heading', { name: 'clerk' }).waitFor()
    assert.equal(await switcher(page).inputValue(), await idOf(service(), 'shop'))
    await leave()
  })

  test('an agent of the same name is shown in its place, and snippets name the project', async () => {
    const { page, leave } = await visit('/agents/twin/settings')
    const description = page.getByLabel('Description', { exact: true })
    await untilSays(description, 'of the harbour')
    await switcher(page).selectOption('shop')
    await untilSays(description, 'of the shop')
    await page.getByRole('button', { name: 'API', exact: true }).click()
    await page.getByText("-H 'Moorage-Project: shop'").waitFor()
    await page.getByRole('button', { name: 'TypeScript' }).click()
    await page.getByText("project: 'shop'").waitFor()
    await leave()
  })

  test('unsaved changes are asked about before another project is shown', async () => {
    const { page, expect, leave } = await visit('/agents/pilot/settings?project=default')
    await page.getByLabel('Description', { exact: true }).fill('typed')
    expect(/404/)
    await switcher(page).selectOption('shop')
    await page.getByRole('button', { name: 'Stay' }).click()
    assert.equal(await switcher(page).inputValue(), 'prj_default')
    await switcher(page).selectOption('shop')
    await page.getByRole('button', { name: 'Discard changes' }).click()
    await page.getByRole('link', { name: 'clerk' }).waitFor()
    assert.equal(await switcher(page).inputValue(), await idOf(service(), 'shop'))
    await leave()
  })

  test('a project is created, changed and deleted, with its name typed', async () => {
    const { page, expect, leave } = await visit('/')
    await page.getByRole('link', { name: 'Projects' }).click()
    await page.getByRole('cell', { name: 'Sells rope' }).waitFor()
    await page.getByRole('cell', { name: '6,000' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Delete default' }).count(), 0)
    await checkAccess(page)

    await page.getByRole('button', { name: 'New project' }).click()
    const made = page.getByRole('dialog', { name: 'New project' })
    await made.getByLabel('Name').fill('Not A Name')
    await made.getByRole('button', { name: 'Create project' }).click()
    await made.getByText('Name is not valid.').waitFor()
    expect(/409/)
    await made.getByLabel('Name').fill('shop')
    await made.getByRole('button', { name: 'Create project' }).click()
    await made.getByText('A project named "shop" already exists.').waitFor()
    await made.getByLabel('Name').fill('trial')
    await made.getByLabel('Description', { exact: true }).fill('For a week')
    await made.getByLabel('Requests per minute').fill('60')
    await made.getByLabel('Max concurrent runs').fill('3')
    await made.getByLabel('Retention (days)').fill('14')
    await made.getByRole('button', { name: 'Create project' }).click()
    await page.getByText('Project trial created').waitFor()
    const stored = (await service().call('GET', '/v1/projects/trial')).body.data
    assert.equal(stored.description, 'For a week')
    assert.deepEqual(stored.limits, {
      requests_per_minute: 60,
      concurrent_runs: 3,
      stored_bytes: null,
      file_bytes: null,
      retention_days: 14,
    })
    await page.getByRole('cell', { name: '14 days' }).waitFor()

    await page.getByRole('link', { name: 'trial' }).click()
    await page.getByText('No agents yet').waitFor()
    await page.getByRole('link', { name: 'Projects' }).click()
    await page.getByText('you are here').waitFor()
    await page.getByRole('button', { name: 'Change trial' }).click()
    const changed = page.getByRole('dialog', { name: 'Change trial' })
    await changed.getByLabel('Name').fill('test')
    await changed.getByLabel('Requests per minute').fill('')
    await changed.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Project test updated').waitFor()
    const { limits } = (await service().call('GET', '/v1/projects/test')).body.data
    assert.deepEqual(limits, {
      requests_per_minute: null,
      concurrent_runs: 3,
      stored_bytes: null,
      file_bytes: null,
      retention_days: 14,
    })
    assert.deepEqual(await offered(page), ['default', 'shop', 'test'])
    assert.equal(new URL(page.url()).searchParams.get('project'), 'test')
    await page.getByRole('link', { name: 'Agents' }).click()
    await page.getByText('No agents yet').waitFor()
    await page.getByRole('link', { name: 'Projects' }).click()
    await page.getByText('you are here').waitFor()

    await page.getByRole('button', { name: 'Delete test' }).click()
    const asking = page.getByRole('dialog', { name: 'Delete project' })
    assert.ok(await asking.getByRole('button', { name: 'Delete project' }).isDisabled())
    await asking.getByLabel('Type test to confirm').fill('test')
    await asking.getByRole('button', { name: 'Delete project' }).click()
    await page.getByText('Project test deleted').waitFor()
    assert.deepEqual(await offered(page), ['default', 'shop'])
    assert.equal(await switcher(page).inputValue(), 'prj_default')

    // One that the reader is not in leaves the list too.
    await page.getByRole('button', { name: 'New project' }).click()
    await made.getByLabel('Name').fill('spare')
    await made.getByRole('button', { name: 'Create project' }).click()
    await page.getByRole('button', { name: 'Delete spare' }).click()
    await asking.getByLabel('Type spare to confirm').fill('spare')
    await asking.getByRole('button', { name: 'Delete project' }).click()
    await page.getByText('Project spare deleted').waitFor()
    await page.getByRole('button', { name: 'Delete spare' }).waitFor({ state: 'detached' })
    await leave()
  })

  test('a deleted project is reported once, and the console continues in the default project', async () => {
    const { page, expect, leave } = await visit('/activity')
    await page.getByRole('heading', { name: 'Activity', exact: true }).waitFor()
    // Made by another person: the list of projects shows it, and it can be opened.
    await newProject(service(), 'brief')
    await page.getByRole('link', { name: 'Projects' }).click()
    await page.getByRole('link', { name: 'brief' }).click()
    await page.getByText('No agents yet').waitFor()
    await page.getByRole('link', { name: 'Activity' }).click()
    await page.getByRole('heading', { name: 'Activity', exact: true }).waitFor()
    await service().call('DELETE', '/v1/projects/brief?name=brief')
    expect(/400/)
    await page.getByRole('link', { name: 'Agents' }).click()
    await page.getByText('The project brief no longer exists. You are now in default.').waitFor()
    await page.getByRole('link', { name: 'pilot' }).waitFor()
    assert.deepEqual(await offered(page), ['default', 'shop'])
    await page.goto(`${service().url}/agents/nowhere?project=brief`)
    await page.getByText('The project brief no longer exists').waitFor()
    await page.getByRole('link', { name: 'pilot' }).waitFor()
    await page.reload()
    await page.getByRole('link', { name: 'pilot' }).waitFor()
    assert.equal(await page.getByText('no longer exists').count(), 0)
    await leave()
  })

  test('an agent can be moved unless its name exists in the other project', async () => {
    const { page, expect, leave } = await visit('/agents/twin/settings?project=default&open=move')
    const dialog = page.getByRole('dialog', { name: 'Move to another project' })
    expect(/409/)
    await dialog.getByLabel('Project').selectOption('shop')
    await dialog.getByRole('button', { name: 'Move agent' }).click()
    await dialog.getByText('The project already has an agent named "twin".').waitFor()
    await page.goto(`${service().url}/agents/pilot/settings?project=default`)
    await page.getByRole('button', { name: 'Move …' }).click()
    await dialog.getByLabel('Project').selectOption('shop')
    await dialog.getByRole('button', { name: 'Move agent' }).click()
    await page.getByText('pilot moved to shop').waitFor()
    await page.getByRole('heading', { name: 'pilot' }).waitFor()
    assert.equal(await switcher(page).inputValue(), await idOf(service(), 'shop'))
    assert.equal((await shop().call('GET', '/v1/agents/pilot')).status, 200)
    assert.equal((await service().call('GET', '/v1/agents/pilot')).status, 404)
    await leave()
  })

  test('a key can be limited to the open project, or have access to all of them', async () => {
    const { page, leave } = await visit('/keys?project=shop')
    const create = async (name: string, isForAll: boolean) => {
      await page.getByRole('button', { name: 'New key' }).click()
      await page.getByLabel('Name').fill(name)
      await page.getByText('Otherwise, it only has access to shop').waitFor()
      await page.getByLabel('All projects').setChecked(isForAll)
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.getByLabel("I've stored it").check()
      await page.getByRole('button', { name: 'Done' }).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
      await page.locator('dd', { hasText: isForAll ? 'all projects' : 'shop' }).waitFor()
      await page.getByRole('link', { name: 'Keys' }).first().click()
    }
    await create('of the shop', false)
    await create('of all', true)
    const row = (name: string) => page.getByRole('row', { name })
    await row('of all').getByRole('cell', { name: 'all projects' }).waitFor()
    await row('of the shop').getByRole('cell', { name: 'all agents' }).waitFor()
    await leave()
  })

  test('a key limited to one project sees no switcher, no projects and no refused requests', async () => {
    const { secret } = await createKey(shop(), { role: 'admin' })
    const { page, go, settled, leave } = await visit('/?project=default', { key: secret })
    await page.getByRole('link', { name: 'clerk' }).waitFor()
    for (const path of ['/', '/agents/clerk/settings', '/keys?open=key', '/system', '/system?view=sessions']) {
      await go(path)
      await settled()
      assert.equal(await page.locator('.failure').count(), 0, path)
      assert.doesNotMatch(await page.locator('body').innerText(), /project/i, path)
      assert.equal(new URL(page.url()).searchParams.get('project'), null)
    }
    await go('/projects')
    await page.getByText("You can't open this page").waitFor()
    await leave()
  })
})

inConsole('the console of a service without projects', (visit, service) => {
  test('does not mention projects until one is created', async () => {
    await createAgent(service(), 'alone')
    const { page, go, settled, leave } = await visit('/')
    const sent = headersOf(page)
    for (const path of ['/', '/agents/alone/settings', '/keys?open=key', '/keys', '/system', '/activity']) {
      await go(path)
      await settled()
      assert.doesNotMatch(await page.locator('body').innerText(), /projects?\b/i, path)
      assert.equal(new URL(page.url()).searchParams.get('project'), null)
    }
    assert.deepEqual([...new Set(sent)], [undefined])
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: /paste an ID/ }).fill('new project')
    await page.keyboard.press('Enter')
    await page.getByLabel('Name').fill('second')
    await page.getByRole('button', { name: 'Create project' }).click()
    await page.getByText('Project second created').waitFor()
    assert.deepEqual(await offered(page), ['default', 'second'])
    await page.getByRole('row', { name: 'second' }).waitFor()
    await leave()
  })
})

const switcher = (page: Page) => page.getByRole('combobox', { name: 'Project', exact: true })

const offered = (page: Page) => switcher(page).locator('option').allTextContents()

/** Which project each request to the API names, from now on. */
function headersOf(page: Page): (string | undefined)[] {
  const sent: (string | undefined)[] = []
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/v1/')) sent.push(request.headers()['moorage-project'])
  })
  return sent
}

async function newProject(service: Service, name: string, more: object = {}): Promise<void> {
  const { status, text } = await service.call('POST', '/v1/projects', { body: { name, ...more } })
  assert.equal(status, 201, text)
}

async function idOf(service: Service, name: string): Promise<string> {
  return (await service.call('GET', `/v1/projects/${name}`)).body.data.id
}

const untilSays = (field: Locator, value: string) =>
  untilHolds(async () => assert.equal(await field.inputValue(), value))
