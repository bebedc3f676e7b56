import type { Page, Request } from 'playwright-core'
import { steady } from '../running/approved.ts'

/** What a reader sees, as text: each visible element with its look, its tooltip and the content of its fields. */
export async function seenPage(page: Page, within = 'main, dialog[open], .toast'): Promise<string> {
  const lines = (await page.evaluate(`(${OUTLINE})(${JSON.stringify(within)})`)) as string[]
  return lines.join('\n')
}

/**
 * What differs in every run besides IDs. Times don't differ, because the clocks of the service and the browser are set.
 */
const UNSTEADY: NonNullable<Parameters<typeof steady>[1]> = [
  [/(?<=“)[0-9A-HJKMNP-TV-Z]{8}(?=” \| title=Open run)/g, 'end of its id'],
  [/\bmrg_\w{4}…\w{4}/g, 'hint of a key'],
  [/\bwhsec_…[\w+/=]+/g, 'hint of a secret'],
  [/\bwhsec_[\w+/=]{20,}/g, 'secret'],
  [/(?<=service:)[0-9a-f]{8}(?=”)/g, 'node'],
  [/(?<=“)\/[^”]*moorage-test[^”]*/g, 'folder'],
  [/\b127\.0\.0\.1%3A\d+/g, 'host'],
]

export function steadyPage(text: string, more: Parameters<typeof steady>[1] = []): string {
  return steady(text.replaceAll(/\b(\d{4}-\d\d-\d\d)T(\d\d:\d\d)/g, '$1 $2'), [...more, ...UNSTEADY])
}

/** Runs in the page. */
const OUTLINE = `(within) => {
  const SAID = ['title', 'datetime', 'download', 'target', 'rel', 'type', 'name', 'inputmode', 'autocomplete', 'pattern',
    'min', 'max', 'step', 'maxlength', 'required', 'readonly', 'multiple', 'accept', 'rows', 'spellcheck', 'disabled',
    'placeholder', 'open', 'start', 'style', 'lang', 'alt', 'colspan', 'role', 'aria-label', 'aria-sort', 'aria-busy',
    'aria-current', 'aria-pressed', 'aria-expanded', 'aria-selected', 'aria-invalid', 'aria-hidden', 'aria-rowcount',
    'aria-rowindex', 'aria-colindex', 'href', 'src', 'popovertarget', 'data-label']
  const DEFAULTS = { type: 'button', 'aria-busy': 'false', 'aria-invalid': 'false', 'aria-hidden': 'true' }
  const MADE = /^(popovertarget|list)$/
  const short = (d) => {
    let hash = 7
    for (const letter of d) hash = (hash * 31 + letter.charCodeAt(0)) >>> 0
    return hash.toString(36)
  }
  const wordsOf = (node) => (node.data ?? '').replaceAll('\\n', '⏎').trim()
  const factsOf = (element) => {
    const facts = SAID.flatMap((name) => {
      const value = element.getAttribute(name)
      if (value === null || DEFAULTS[name] === value) return []
      if (MADE.test(name)) return [name]
      return [value === '' || value === 'true' ? name : name + '=' + value.replaceAll('\\n', '⏎')]
    })
    const about = element.getAttribute('aria-describedby')
    if (about) facts.push('described by “' + (document.getElementById(about)?.textContent ?? 'nothing') + '”')
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(element.tagName)) {
      const labels = [...(element.labels ?? [])].map(({ innerText }) => innerText.replaceAll('\\n', ' '))
      if (labels.length > 0) facts.push('labelled “' + labels.join(', ') + '”')
      if (element.type === 'checkbox' || element.type === 'radio') facts.push(element.checked ? 'checked' : 'not checked')
      else if (element.tagName === 'SELECT') {
        const choices = [...element.options].map(({ value, text }) => (value === text ? text : value + ' (' + text + ')'))
        facts.push('value “' + element.value + '” of ' + choices.join(', '))
      } else facts.push('value “' + element.value.replaceAll('\\n', '⏎') + '”')
      if (element.list) facts.push('proposes ' + [...element.list.options].map(({ value }) => value).join(', '))
      if (document.activeElement === element) facts.push('has the focus')
    }
    return facts
  }
  const lines = []
  const walk = (element, depth) => {
    if (!element.checkVisibility()) return
    const write = (text) => lines.push('  '.repeat(depth) + text)
    const look = [...element.classList].filter((name) => name !== 'left-behind').map((name) => '.' + name).join('')
    const tag = element.tagName.toLowerCase()
    if (tag === 'svg' && look === '.icon') return write('icon ' + short(element.innerHTML))
    if (tag === 'datalist' || tag === 'option') return
    const facts = factsOf(element)
    if (tag === 'path') return write('path' + look + ' ' + short(element.getAttribute('d') ?? '') + (facts.length ? ' | ' + facts.join(' | ') : ''))
    const children = [...element.childNodes].filter((node) => node.nodeType === 1 || wordsOf(node) !== '')
    const isPlain = tag === 'select' || children.every((node) => node.nodeType === 3)
    const words = isPlain && tag !== 'select' ? element.textContent.trim().replaceAll('\\n', '⏎') : ''
    const name = tag + look + (words ? ' “' + words + '”' : '') + facts.map((fact) => ' | ' + fact).join('')
    // What only holds another element says nothing.
    const isSilent = !look && facts.length === 0 && children.length === 1 && !isPlain && !/^(td|th|tr|li|h\\d|p)$/.test(tag)
    if (!isSilent && (name !== tag || children.length > 0)) write(name)
    if (isPlain) return
    for (const node of children) {
      if (node.nodeType === 1) walk(node, depth + (isSilent ? 0 : 1))
      else lines.push('  '.repeat(depth + 1) + '“' + wordsOf(node) + '”')
    }
  }
  lines.push('window: ' + document.title)
  for (const root of document.querySelectorAll(within)) walk(root, 0)
  return lines
}`

/** A page's requests: method, path and body. */
export function recordRequests(page: Page): () => string {
  let sent: string[] = []
  page.on('request', (request) => {
    const { pathname } = new URL(request.url())
    if (/\/v1\/|\/console\//.test(pathname) && !/\/console\/assets\//.test(pathname)) sent.push(requestText(request))
  })
  return () => {
    const all = sent
    sent = []
    const isRead = (text: string) => text.startsWith('GET ')
    const reads = all.filter((text) => isRead(text) && !OF_THE_FRAME.test(text))
    // Reads may be sent in any order, and repeatedly. Changes are sent once and in this order.
    return [...new Set(reads.toSorted()), ...all.filter((text) => !isRead(text))].join('\n')
  }
}

/** What the frame of all pages requests regularly, and a log that is followed. */
const OF_THE_FRAME = /\/v1\/pause|\/v1\/approvals\?status=pending&limit=1$|\/console\/session|\/logs\?limit=200$/

function requestText(request: Request): string {
  const url = new URL(request.url())
  const project = request.headers()['moorage-project']
  const first = `${request.method()} ${url.pathname}${decodeURIComponent(url.search)}${project ? ` (project ${project})` : ''}`
  const body = request.postData()
  return body === null ? first : `${first}\n${indented(body)}`
}

function indented(body: string): string {
  const text = /^[{[]/.test(body) ? JSON.stringify(JSON.parse(body), null, 2) : body
  return text.replaceAll(/^/gm, '  ')
}
