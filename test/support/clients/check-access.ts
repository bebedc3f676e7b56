import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'

/** The small build, because every page that is loaded has to read it. */
const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

type Finding = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }

/**
 * All pages are checked in light mode on a desktop. With --all, they are also checked in dark mode on a phone. The
 * other combinations are checked only for contrast.
 */
const ONLY_CONTRAST = { runOnly: ['color-contrast'] }
const DESK = { width: 1440, dark: false }
const STATES = [
  DESK,
  { width: 1440, dark: true, ...ONLY_CONTRAST },
  { width: 390, dark: true },
  { width: 390, dark: false, ...ONLY_CONTRAST },
]

/** Further rows of a long list are built like the first ones, so they aren't checked. */
const WHERE = { include: ['html'], exclude: ['tr:nth-child(n+13)', 'li:nth-child(n+13)'] }

const SERIOUS: ReadonlySet<string> = new Set(['serious', 'critical'])

/**
 * Fails if there are serious problems for people who can't see or don't use a mouse, in light and dark mode, on a
 * desktop and on a phone. With `isStrict`, the page must have no problem at all.
 */
export async function checkAccess(page: Page, { isStrict = false } = {}): Promise<void> {
  const hasAxe = await page.evaluate(`'axe' in globalThis`)
  if (!hasAxe) await page.evaluate(AXE)
  for (const { width, dark, ...rules } of process.env['MOORAGE_TEST_ALL'] ? STATES : [DESK]) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' })
    const asked = JSON.stringify([WHERE, { resultTypes: ['violations'], ...rules }])
    const found = (await page.evaluate(`axe.run(...${asked}).then(({ violations }) => violations)`)) as Finding[]
    const told = found
      .filter(({ impact }) => isStrict || SERIOUS.has(impact))
      .map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join('\n')}`,
      )
    assert.deepEqual(told, [], `${page.url()} at ${width} px, ${dark ? 'dark' : 'light'}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.ok(Number(overflow) <= 0, `${page.url()} at ${width} px is wider than the window`)
  }
  await page.setViewportSize({ width: 1440, height: 900 })
}
