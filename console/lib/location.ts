import { signal } from '@preact/signals'
import { BASE, inSameProject } from './base.ts'

/** Where the reader is: the path below the service's address, and what the query says. */
export type Place = { path: string; query: URLSearchParams }

type Changes = Record<string, string | number | undefined>

export const here = signal<Place>(read())

/** There while the page has changes that are not saved. `discard` gives them up. */
export const unsaved = signal<{ discard(): void } | undefined>(undefined)

/** Where the reader wanted to go, while they are asked what becomes of the changes. */
export const wanted = signal<string | undefined>(undefined)

/** The query that each path had when it was left, so that a tab is found again as it was. */
const left = new Map<string, string>()

function read(): Place {
  const { pathname, search } = window.location
  return { path: `/${pathname.slice(BASE.pathname.length)}`, query: new URLSearchParams(search) }
}

/** Follows links of the console and the browser's buttons without loading the page again. */
export function watchLocation(isPage: (path: string) => boolean): void {
  window.addEventListener('popstate', () => {
    const to = read()
    if (isHeld(to.path, to.path + window.location.search)) {
      // The browser is at the other address already. Nothing is lost: the way there is asked about.
      const { path, query } = here.value
      window.history.pushState(null, '', new URL(`${path.slice(1)}${query.size ? `?${query}` : ''}`, BASE))
    } else here.value = to
  })
  window.addEventListener('beforeunload', (event) => {
    if (unsaved.value) event.preventDefault()
  })
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest('a')
    if (!link || event.defaultPrevented || event.button !== 0 || link.target || link.hasAttribute('download')) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const { origin, pathname, search, hash } = new URL(link.href)
    if (hash || origin !== BASE.origin || !pathname.startsWith(BASE.pathname)) return
    const path = `/${pathname.slice(BASE.pathname.length)}`
    if (!isPage(path)) return
    event.preventDefault()
    go(path + search)
  })
}

/** Goes to a page: `/activity?status=failed`. */
export function go(to: string, { replace = false } = {}): void {
  const before = here.value.path
  if (isHeld(to.replace(/\?.*/, ''), to)) return
  left.set(before, searchToKeep())
  const url = new URL(inSameProject(to).slice(1), BASE)
  if (replace) window.history.replaceState(null, '', url)
  else window.history.pushState(null, '', url)
  here.value = read()
  if (here.value.path !== before) window.scrollTo(0, 0)
}

/** Asks the reader first, if another page would lose sight of changes that are not saved. */
function isHeld(path: string, to: string): boolean {
  if (!unsaved.value || path === here.value.path) return false
  wanted.value = to
  return true
}

/**
 * A dialog is done with when its page is left: a tab that is found again does not open it again. The project may have
 * another name then.
 */
function searchToKeep(): string {
  const query = new URLSearchParams(here.value.query)
  for (const name of ['open', 'project']) query.delete(name)
  return query.size ? `?${query}` : ''
}

/** The path with the query that it had when the reader left it. */
export function asLeft(path: string): string {
  return path + (left.get(path) ?? '')
}

/** After the project has changed: the queries of before name things of another one. */
export function forgetQueries(): void {
  left.clear()
}

/** Writes another project into the address, or removes it. The browser's Back button does not return to the old one. */
export function writeProject(name: string | undefined): void {
  const url = new URL(window.location.href)
  if (name === undefined) url.searchParams.delete('project')
  else url.searchParams.set('project', name)
  window.history.replaceState(null, '', url)
  here.value = read()
}

/** What the query says: a filter, a tab, a range, a page. A component that reads it is rendered again when it changes. */
export function param(name: string): string | undefined {
  return here.value.query.get(name) ?? undefined
}

/** Changes the query. A choice that the reader may want to go back from is a `push`; typing in a field is not. */
export function setParams(changes: Changes, { push = false } = {}): void {
  const { path } = here.value
  const query = new URLSearchParams(here.value.query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name)
    else query.set(name, String(value))
  }
  const text = query.toString()
  go(text ? `${path}?${text}` : path, { replace: !push })
}
