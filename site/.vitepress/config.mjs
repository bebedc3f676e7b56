import { readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const sidebar = JSON.parse(readFileSync(new URL('../content/sidebar.json', import.meta.url), 'utf8'))
const base = process.env.MOORAGE_DOCS_BASE ?? '/'

/** As GitHub makes the anchors of headings, because the pages are read there as well. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .trim()
    .replaceAll(' ', '-')

/** Two braces would be an expression of Vue, in text and in code within a line. */
function plainBraces(md) {
  const { escapeHtml } = md.utils
  md.renderer.rules.text = (tokens, i) => escapeHtml(tokens[i].content).replaceAll('{{', '<span v-pre>{{</span>')
  md.renderer.rules.code_inline = (tokens, i) => `<code v-pre>${escapeHtml(tokens[i].content)}</code>`
}

export default defineConfig({
  title: 'Moorage',
  description: 'Self-hosted agent hosting: named AI agents behind one REST API.',
  lang: 'en-US',
  base,
  srcDir: 'content',
  outDir: '.out',
  cacheDir: '.cache',
  srcExclude: ['public/**'],
  metaChunk: true,
  head: [['link', { rel: 'icon', href: `${base}icon.svg` }]],
  markdown: {
    html: false,
    config: plainBraces,
    anchor: { slugify },
    theme: { light: 'github-light', dark: 'github-dark' },
  },
  themeConfig: {
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'API reference', link: '/reference/index.html', target: '_self' },
      { text: 'Changelog', link: '/changelog' },
    ],
  },
})
