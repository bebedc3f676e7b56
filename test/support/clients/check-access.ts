import assert from 'node:assert/strict'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

type Finding = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }

/** All pages are checked in light mode on a desktop; with --all, also in dark mode on a phone. Others differ in contrast only. */
const ONLY_CONTRAST = { runOnly: ['color-contrast'] }
const DESK = { width: 1440, dark: false }
const STATES = [
  DESK,
  { width: 1440, dark: true, ...ONLY_CONTRAST },
  { width: 390, dark: true },
  { width: 390, dark: false, ...ONLY_CONTRAST },
]

/** The rows of a long list are made like its first ones. */
const WHERE = { include: ['html'], exclude: ['tr:nth-child(n+13)', 'li:nth-child(n+13)'] }

/** Nothing serious for those who do not see, or do not use a mouse: in light and dark, on a desk and on a phone. */
export async function checkAccess(page: Page): Promise<void> {
  const hasAxe = await page.evaluate(`'axe' in globalThis`)
  if (!hasAxe) await page.evaluate(axe.source)
  for (const { width, dark, ...rules } of process.env['MOORAGE_TEST_ALL'] ? STATES : [DESK]) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
    const asked = JSON.stringify([WHERE, { resultTypes: ['violations'], ...rules }])
    const found = (await page.evaluate(`axe.run(...${asked}).then(({ violations }) => violations)`)) as Finding[]
    const serious = found.filter(({ impact }) => impact === 'serious' || impact === 'critical')
    const told = serious.map(
      ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
    )
    assert.deepEqual(told, [], `${page.url()} at ${width} px, ${dark ? 'dark' : 'light'}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.ok(Number(overflow) <= 0, `${page.url()} at ${width} px is wider than the window`)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
}
