// npm run screenshots [-- part of a name …]: pictures of the console's pages in docs/screenshots, over a service with
// example data. Needs Chromium.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from '../test/support/console.ts'
import { fillForConsole, SEED_SETTINGS } from '../test/support/console-seed.ts'
import { startService } from '../test/support/service.ts'

const folder = join(import.meta.dirname, '../docs/screenshots')
const wanted = process.argv.slice(2)

mkdirSync(folder, { recursive: true })
const service = await startService('sqlite', SEED_SETTINGS)
const browser = await openBrowser()
try {
  const pages = Object.entries(await fillForConsole(service))
  const chosen = pages.filter(([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  await take('sign-in', '/', { key: null })
  for (const [name, path] of chosen) await take(name, path, {})
  await take('agents-dark', '/', { dark: true })
  await take('playground-dark', '/agents/support?session=order-4702', { dark: true })
  await take('agents-phone', '/', { width: 390 })
} finally {
  await browser.close()
  await service.stop()
}

async function take(name, path, options) {
  const { page, leave } = await browser.visit(service, path, { ...options, height: 800, width: options.width ?? 1280 })
  await page.waitForLoadState('networkidle').catch(() => undefined)
  await page.screenshot({ path: join(folder, `${name}.png`) })
  console.log(`${name}.png`)
  await leave()
}
