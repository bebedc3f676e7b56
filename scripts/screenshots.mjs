// npm run screenshots [-- part of a name …]: pictures of the console's pages in docs/screenshots, over a service with
// example data. It tells when each page had its first paint, which is to be under 200 ms on an idle
// machine. Needs Chromium.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from '../test/support/console/console.ts'
import { fillForConsole, SEED_SETTINGS } from '../test/support/console/console-seed.ts'
import { startService } from '../test/support/service/service.ts'

const folder = join(import.meta.dirname, '../docs/screenshots')
const wanted = process.argv.slice(2)

mkdirSync(folder, { recursive: true })
const service = await startService('sqlite', SEED_SETTINGS)
const browser = await openBrowser()
try {
  const paths = await fillForConsole(service)
  const shots = [
    ['sign-in', '/', { key: null }],
    ...Object.entries(paths).map(([name, path]) => [name, path, {}]),
    ['agents-dark', paths.agents, { dark: true }],
    ['playground-dark', paths.playground, { dark: true }],
    ['agents-phone', paths.agents, { width: 390 }],
    ['playground-phone', paths.playground, { width: 390 }],
  ]
  const chosen = shots.filter(([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  for (const [name, path, options] of chosen) await take(name, path, options)
} finally {
  await browser.close()
  await service.stop()
}

async function take(name, path, options) {
  const { page, settled, leave } = await browser.visit(service, path, {
    ...options,
    height: 800,
    width: options.width ?? 1280,
  })
  await settled()
  // What comes last is drawn, and a chart too.
  await page.waitForTimeout(400)
  await page.screenshot({ path: join(folder, `${name}.png`) })
  const paint = await page.evaluate(`performance.getEntriesByName('first-contentful-paint')[0]?.startTime`)
  console.log(`${name}.png, first paint after ${Math.round(paint)} ms`)
  await leave()
}
