import { test } from 'node:test'
import { inHarbour } from '../../support/console/console-scene.ts'
import { createKey } from '../../support/slices/resources.ts'

inHarbour('what the frame of the console says', (open, harbour, service) => {
  test('the palette, who is signed in, and addresses that are not there', async (t) => {
    const scene = await open('/agents/support')
    await scene.act([['press', 'first admin key']])
    await scene.look('who is signed in', '.account-menu')
    await scene.page.keyboard.press('Escape')
    await scene.page.keyboard.press('Control+k')
    await scene.page.getByRole('combobox', { name: /paste an ID/ }).waitFor()
    await scene.look('the palette on the page of an agent')
    for (const typed of ['new', 'cash', 'pause', 'dark', harbour().well, harbour().rope, 'nothing like that']) {
      await scene.page.getByRole('combobox', { name: /paste an ID/ }).fill(typed)
      await scene.look(`the palette with ${typed}`)
    }
    await scene.page.keyboard.press('Escape')
    await scene.window.go('/nonsense')
    await scene.look('an address that is not there')
    scene.approve(t, 'frame/admin')
    await scene.window.leave()
  })

  test('a key that may only read, on a phone', async (t) => {
    const { secret: key } = await createKey(service(), { name: 'a reader', role: 'viewer' })
    const scene = await open('/', { key, width: 390, height: 800 })
    await scene.look('agents on a phone', 'body')
    for (const path of [
      '/agents/support',
      '/agents/support/settings',
      '/approvals',
      '/webhooks',
      '/agents/support/schedules',
    ])
      await scene.open(path)
    scene.approve(t, 'frame/viewer-on-a-phone')
    await scene.window.leave()
  })

  test('signing in', async (t) => {
    const scene = await open('/', { key: null })
    await scene.look('signed out', 'body')
    scene.window.expect(/status of 401/)
    await scene.page.getByLabel('API key', { exact: true }).fill('mrg_wrong')
    await scene.page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await scene.page.getByRole('alert').or(scene.page.locator('.wrong')).first().waitFor()
    await scene.look('a wrong key', 'body')
    scene.approve(t, 'frame/sign-in')
    await scene.window.leave()
  })
})
