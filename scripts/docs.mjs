// npm run docs [-- folder]: makes a website of docs/ and the OpenAPI document, in site/dist unless told otherwise. Its
// generator has a lock file of its own in site/, and is installed by this command only.
// MOORAGE_DOCS_BASE=/moorage/ is for a site that is not at the root of its host. MOORAGE_REPOSITORY is where links to
// sources lead: without it they are plain text.
import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { openApiDocument } from '../src/http/reference/openapi.ts'
import { referencePage } from '../src/http/reference/reference-page.ts'
import { operations } from '../src/operations.ts'
import { llmsIndex, pagesOf, sidebarOf } from './docs/pages.ts'
import { install } from './install.mjs'

const root = dirname(import.meta.dirname)
const site = join(root, 'site')
const content = join(site, 'content')
const { MOORAGE_DOCS_BASE = '/', MOORAGE_REPOSITORY } = process.env
const target = resolve(process.argv[2] ?? join(site, 'dist'))

const problem = await install(site, { withDevelopment: true, isForThisPlatform: true })
if (problem) {
  console.error(problem)
  process.exit(1)
}

rmSync(content, { recursive: true, force: true })
const put = (file, text) => {
  mkdirSync(dirname(join(content, file)), { recursive: true })
  writeFileSync(join(content, file), text)
}
const pages = pagesOf(root, { base: MOORAGE_DOCS_BASE, repository: MOORAGE_REPOSITORY })
for (const { target: file, text } of pages) put(file, text)
for (const file of new Set(pages.flatMap((page) => page.images))) {
  mkdirSync(dirname(join(content, file)), { recursive: true })
  copyFileSync(join(root, 'docs', file), join(content, file))
}
const document = await openApiDocument(operations)
put('public/openapi.json', JSON.stringify(document))
// The page of the service, beside files that have other places here.
const reference = (await referencePage(document, { hasConsole: false }))
  .replaceAll('"docs/', '"')
  // The site is not the service: its own address is none to send requests to.
  .replaceAll(' data-origin', '')
  .replaceAll(/<script src="send.js"[^>]*><\/script>\n/g, '')
  .replaceAll('href="v1/openapi.json"', 'href="../openapi.json"')
  .replaceAll('href="llms.txt"', 'href="../llms.txt"')
put('public/reference/index.html', reference)
for (const [from, to] of [
  ['reference.css', 'reference.css'],
  ['reference-in-browser.js', 'reference.js'],
]) {
  copyFileSync(join(root, 'src/http/reference', from), join(content, 'public/reference', to))
}
for (const file of new Set(pages.flatMap((page) => page.files))) {
  mkdirSync(dirname(join(content, 'public/files', file)), { recursive: true })
  copyFileSync(join(root, file), join(content, 'public/files', file))
}
copyFileSync(join(root, 'console/icon.svg'), join(content, 'public/icon.svg'))
put('public/llms.txt', llmsIndex(pages, MOORAGE_DOCS_BASE))
// The same text that the pages are made of, for readers that are programs.
for (const page of pages) put(join('public', page.target), page.text)
put('sidebar.json', JSON.stringify(sidebarOf(root, pages)))

const out = join(site, '.out')
const { status } = spawnSync(process.execPath, [join(site, 'node_modules/vitepress/bin/vitepress.js'), 'build', '.'], {
  cwd: site,
  stdio: 'inherit',
  env: { ...process.env, MOORAGE_DOCS_BASE },
})
if (status === 0) {
  rmSync(target, { recursive: true, force: true })
  cpSync(out, target, { recursive: true })
  console.log(`${pages.length} pages: ${target}`)
}
rmSync(out, { recursive: true, force: true })
process.exitCode = status ?? 1
