import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { inConsole } from '../../support/console/console.ts'
import { fillForConsole, PAGES, SEED_SETTINGS } from '../../support/console/console-seed.ts'
import { untilHolds } from '../../support/running/until.ts'

const PHONE = { width: 390, height: 844 }

inConsole(
  'the console on a phone',
  (visit, service) => {
    let paths: Awaited<ReturnType<typeof fillForConsole>>
    before(async () => {
      paths = await fillForConsole(service(), { perHour: 1 })
    })

    test('no table of any page is wider than the screen, and every button in one can be reached', async () => {
      const { page, go, settled, leave } = await visit('/', PHONE)
      for (const name of PAGES) {
        await go(paths[name])
        await settled()
        const wide = await page.evaluate(
          `[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.ariaLabel)`,
        )
        assert.deepEqual(wide, [], name)
      }
      await leave()
    })

    test('the bar has five entries of finger size, and More has the others', async () => {
      const { page, settled, leave } = await visit('/', PHONE)
      await settled()
      const bar = page.getByRole('navigation', { name: 'Console' })
      const entries = await page.evaluate(`[...document.querySelectorAll('.sidebar nav > .group > a, .more')]
        .filter((one) => one.checkVisibility())
        .map((one) => {
          const { width, height } = one.getBoundingClientRect()
          const letters = Number.parseFloat(getComputedStyle(one).fontSize)
          return { label: one.textContent, isLarge: width >= 44 && height >= 44 && letters >= 11 }
        })`)
      const labels = ['Agents', 'Activity', 'Approvals', 'Usage', 'More']
      assert.deepEqual(
        entries,
        labels.map((label) => ({ label, isLarge: true })),
      )
      await bar.getByRole('button', { name: 'More' }).click()
      const menu = bar.locator('.more-menu')
      assert.deepEqual(await menu.getByRole('link').allInnerTexts(), [
        'Feedback',
        'Connections',
        'Files',
        'Webhooks',
        'Keys',
        'System',
        'API docs',
      ])
      await menu.getByRole('link', { name: 'Keys' }).click()
      await page.getByRole('heading', { name: 'Keys', exact: true }).waitFor()
      assert.equal(await menu.isVisible(), false)
      await leave()
    })

    test("a page's API request opens on screen, and Previous and Next are side by side", async () => {
      const { page, settled, leave } = await visit(paths.request, PHONE)
      await settled()
      const [previous, next] = await Promise.all(
        ['Previous in the list', 'Next in the list'].map((name) => page.getByRole('button', { name }).boundingBox()),
      )
      assert.ok(previous && next && previous.y === next.y && previous.x < next.x)
      await page.getByRole('button', { name: 'API', exact: true }).click()
      const popover = await page.locator('.popover:popover-open').boundingBox()
      assert.ok(popover && popover.x >= 0 && popover.x + popover.width <= PHONE.width, JSON.stringify(popover))
      assert.ok(popover.y >= 0 && popover.y + popover.height <= PHONE.height, JSON.stringify(popover))
      await leave()
    })

    for (const width of [390, 1440]) {
      test(`actions are next to their heading, and Save is reachable in a long form, at ${width} px`, async () => {
        const { page, go, settled, leave } = await visit('/', { ...PHONE, width })
        for (const name of ['agents', 'settings'] as const) {
          await go(paths[name])
          await settled()
          const [heading, action] = [
            page.getByRole('heading', { level: 1 }),
            page.locator('.page-actions .button').first(),
          ]
          const [title, button] = [await heading.boundingBox(), await action.boundingBox()]
          assert.ok(title && button && button.y < title.y + title.height, `${name}: they are in one row`)
        }
        const save = await page.getByRole('button', { name: 'Save', exact: true }).boundingBox()
        assert.ok(save && save.y + save.height <= PHONE.height, 'Save is seen without scrolling')
        const heights = await page.evaluate(`[...document.querySelectorAll('.settings .field')]
          .map((one) => one.querySelector(':scope > select, :scope > input:not([type=checkbox])'))
          .filter((one) => one).map((one) => Math.round(one.getBoundingClientRect().height))`)
        assert.equal(new Set(heights as number[]).size, 1, `selects are as high as fields: ${heights}`)
        await leave()
      })
    }

    for (const width of [390, 1440]) {
      test(`a dialog dims the whole window of ${width} px, and its action is visible without scrolling`, async () => {
        const { page, settled, leave } = await visit('/keys?open=key', { width, height: 700 })
        await settled()
        const strip = () => page.evaluate('innerWidth - document.documentElement.clientWidth')
        assert.equal(await strip(), 0)
        const create = await page.getByRole('button', { name: 'Create key' }).boundingBox()
        assert.ok(create && create.y + create.height <= 700, JSON.stringify(create))
        assert.equal(await page.evaluate('document.activeElement.labels?.[0]?.textContent'), 'Name')
        await leave()
      })
    }

    test('an error from the service is shown at its field, which gets the focus', async () => {
      const { page, expect, leave } = await visit('/keys?open=key', PHONE)
      await page.getByLabel('Name').fill('robot')
      await page.getByRole('combobox', { name: 'Agent' }).fill('nobody-of-that-name')
      expect(/400/)
      await page.getByRole('button', { name: 'Create key' }).click()
      await page.locator('.field', { hasText: 'Agent' }).getByText('no agent with this ID or name exists').waitFor()
      await untilHolds(async () => {
        assert.equal(await page.evaluate('document.activeElement.labels?.[0]?.textContent'), 'Agent')
      })
      await leave()
    })

    test('dark colors can be switched on, survive a reload, and apply to the API reference, which links back', async () => {
      const { page, leave } = await visit('/keys', PHONE)
      const isDark = () => page.evaluate(`getComputedStyle(document.documentElement).colorScheme === 'dark'`)
      assert.equal(await isDark(), false)
      await page.getByRole('button', { name: 'Use dark colors' }).click()
      assert.equal(await isDark(), true)
      await page.reload()
      await page.getByRole('button', { name: 'Use light colors' }).waitFor()
      assert.equal(await isDark(), true)
      await page.getByRole('button', { name: 'More' }).click()
      await page.getByRole('link', { name: 'API docs' }).click()
      await page.getByRole('heading', { name: 'Moorage API' }).waitFor()
      await page.locator('html[data-theme=dark]').waitFor({ state: 'attached' })
      await page.getByRole('link', { name: '← Console' }).click()
      await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor()
      await leave()
    })
  },
  { settings: SEED_SETTINGS },
)
