// npm run screenshots [-- part of a name …]: pictures of the console's pages in docs/screenshots, over two services with
// example data: one of a single user, and one of a team with people and projects. It tells when each page had its first
// paint, which is to be under 200 ms on an idle machine. Needs Chromium.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openBrowser } from '../test/support/console/console.ts'
import { fillForConsole, SEED_SETTINGS } from '../test/support/console/console-seed.ts'
import { fillForTeam, startTeamIssuer } from '../test/support/console/team-seed.ts'
import { startService } from '../test/support/service/service.ts'

const folder = join(import.meta.dirname, '../docs/screenshots')
const wanted = process.argv.slice(2)
const isWanted = ([name]) => wanted.length === 0 || wanted.some((part) => name.includes(part))

mkdirSync(folder, { recursive: true })
const browser = await openBrowser()
const { issuer, settings } = await startTeamIssuer()
try {
  const team = await startService('sqlite', settings)
  const ofTeam = Object.entries(await fillForTeam(team, issuer)).map(([name, path]) => [name, path, {}])
  await takeAll(team, [['sign-in-people', '/', { key: null }], ...ofTeam])

  const service = await startService('sqlite', SEED_SETTINGS)
  const { projects: _, ...paths } = await fillForConsole(service)
  await takeAll(service, [
    ['sign-in', '/', { key: null }],
    ...Object.entries(paths).map(([name, path]) => [name, path, {}]),
    ['agents-dark', paths.agents, { dark: true }],
    ['playground-dark', paths.playground, { dark: true }],
    ['agents-phone', paths.agents, { width: 390 }],
    ['playground-phone', paths.playground, { width: 390 }],
  ])
} finally {
  await browser.close()
  await issuer.close()
}

async function takeAll(service, shots) {
  try {
    for (const [name, path, options] of shots.filter(isWanted)) await take(service, name, path, options)
  } finally {
    await service.stop()
  }
}

async function take(service, name, path, options) {
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
