import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'

/** Pages that are not in docs/, and where they are on the site. */
const OTHERS: Record<string, string> = {
  'README.md': 'index.md',
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing.md',
  'CODE_OF_CONDUCT.md': 'code-of-conduct.md',
  'SECURITY.md': 'report-a-vulnerability.md',
}
/** Files that pages link to and that readers use as they are. */
const SERVED = /\.(json|ya?ml)$/

export type SitePage = {
  source: string
  target: string
  title: string
  text: string
  images: string[]
  files: string[]
}

type MenuGroup = { text: string; collapsed?: boolean; items: { text: string; link: string }[] }

/** Every page of the site: its source, where it is, its title and its text, with links as they are on the site. */
type Place = { base: string; repository: string | undefined }

export function pagesOf(root: string, { base, repository }: Place): SitePage[] {
  const sources = globSync(['docs/**/*.md', 'examples/**/README.md'], { cwd: root }).toSorted()
  const own = sources.map((source) => [source, targetOf(source)] as const)
  const targets = new Map([...Object.entries(OTHERS), ...own])
  return [...targets].map(([source, target]) => {
    const images: string[] = []
    const files: string[] = []
    const linked = outsideCode(readFileSync(join(root, source), 'utf8'), (text) =>
      withoutComments(text).replaceAll(
        /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g,
        (whole, mark: string, words: string, link: string) => {
          if (/^(https?|mailto):|^#/.test(link)) return whole
          const [path = '', anchor] = link.split('#')
          const file = normalize(join(dirname(source), path)).replace(/\/$/, '')
          if (mark) {
            const image = relative('docs', file)
            images.push(image)
            return `![${words}](${relativeTo(target, image)})`
          }
          const page = targets.get(file) ?? targets.get(join(file, 'README.md'))
          if (page) return `[${words}](${relativeTo(target, page)}${anchor ? `#${anchor}` : ''})`
          if (!existsSync(join(root, file))) throw new Error(`${source}: the link ${link} leads to no file`)
          if (SERVED.test(file) && statSync(join(root, file)).isFile()) {
            files.push(file)
            // It is no page of the site, so its generator must not look for it.
            return `[${words}](${base}files/${file}){target="_self"}`
          }
          return repository ? `[${words}](${repository}/blob/HEAD/${file})` : words
        },
      ),
    )
    const title = /^# (.+)$/m.exec(linked)?.[1] ?? target
    return { source, target, title, text: linked, images, files }
  })
}

function targetOf(source: string): string {
  if (source.startsWith('examples/')) return source.replace(/README\.md$/, 'index.md')
  return source.replace(/^docs\//, '')
}

function relativeTo(from: string, to: string): string {
  const path = relative(dirname(from), to)
  return path.startsWith('.') ? path : `./${path}`
}

/** Changes what is not in a block of code. */
function outsideCode(markdown: string, change: (text: string) => string): string {
  const blocks = markdown.split(/(^```[\s\S]*?^```$)/m)
  return blocks.map((block, i) => (i % 2 === 1 ? block : change(block))).join('')
}

/** Comments are for tests. */
function withoutComments(text: string): string {
  return text.replaceAll(/<!--[\s\S]*?-->\n?/g, '')
}

/** The menu, made from the table in the README. Pages that the table doesn't name are added under the last title. */
export function sidebarOf(root: string, pages: readonly SitePage[]): MenuGroup[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const bySource = new Map(pages.map((page) => [page.source, page]))
  const shown = new Set(['README.md'])
  const itemOf = (page: SitePage, text: string) => ({ text, link: `/${page.target.replace(/(index)?\.md$/, '')}` })
  const groups = [...readme.matchAll(/^\| \*\*(.+?)\*\* \| (.+) \|$/gm)].map(([, title = '', cell = '']) => {
    const items = [...cell.matchAll(/\[([^\]]+)\]\(([^)#]+)\)/g)].flatMap(([, text = '', source = '']) => {
      const page = bySource.get(source)
      if (!page || shown.has(source)) return []
      shown.add(source)
      // A word in brackets is about the page before it: the page's own title says more.
      return [itemOf(page, /^[a-z]/.test(text) ? page.title : text)]
    })
    return { text: title, items }
  })
  const rest = pages.filter(({ source }) => !shown.has(source))
  const isExample = ({ source }: SitePage) => source.startsWith('examples/')
  return [
    { text: 'Moorage', items: [{ text: 'Overview', link: '/' }] },
    ...groups,
    { text: 'Examples', collapsed: true, items: rest.filter(isExample).map((page) => itemOf(page, page.title)) },
    { text: 'Contribute', items: rest.filter((page) => !isExample(page)).map((page) => itemOf(page, page.title)) },
  ]
}

/** What the site has, for language models: https://llmstxt.org */
export function llmsIndex(pages: readonly SitePage[], base: string): string {
  const lines = pages.map(({ target, title, text }) => `- [${title}](${base}${target}): ${firstSentence(text)}`)
  return `# Moorage

> Self-hosted agent hosting: named AI agents behind one REST API. These are its documents, as Markdown.

- [OpenAPI document](${base}openapi.json): every operation, field and error
${lines.join('\n')}
`
}

function firstSentence(text: string): string {
  const [, paragraph = ''] = /^(?!#|!|\||```|- )(\S[\s\S]*?)(?:\n\n|$)/m.exec(text) ?? []
  const plain = paragraph
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll(/\s+/g, ' ')
    .replaceAll('**', '')
  return /^.+?\.(?= |$)/.exec(plain)?.[0] ?? plain
}
