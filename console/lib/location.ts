import { signal } from '@preact/signals'
import { BASE, inSameProject } from './base.ts'

/** The reader's location: the path below the service's URL, and the query. */
export type Place = { path: string; query: URLSearchParams }

type Changes = Record<string, string | number | undefined>

export const here = signal<Place>(read())

/** Set while the page has unsaved changes. `discard` drops them. */
export const unsaved = signal<{ discard(): void } | undefined>(undefined)

/** Where the reader wants to go, while a dialog asks what to do with unsaved changes. */
export const wanted = signal<string | undefined>(undefined)

/** For each path, the query when the reader left it, so that a tab looks the same when it is opened again. */
const left = new Map<string, string>()

function read(): Place {
  const { pathname, search } = window.location
  return { path: `/${pathname.slice(BASE.pathname.length)}`, query: new URLSearchParams(search) }
}

/** Handles the console's links and the browser's buttons without reloading the page. */
export function watchLocation(isPage: (path: string) => boolean): void {
  window.addEventListener('popstate', () => {
    const to = read()
    if (isHeld(to.path, to.path + window.location.search)) {
      // The browser already shows the other URL. Nothing is lost, because a dialog asks before going there.
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

/** Opens a page, such as `/activity?status=failed`. */
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

/** Asks the reader first if opening another page would hide unsaved changes. */
function isHeld(path: string, to: string): boolean {
  if (!unsaved.value || path === here.value.path) return false
  wanted.value = to
  return true
}

/**
 * The query without `open`, because a dialog shouldn't open again when the reader returns to its page, and without the
 * project, which may have been renamed by then.
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

/** Drops the remembered queries when the project changes, because they name things in another project. */
export function forgetQueries(): void {
  left.clear()
}

/** Writes another project to the URL, or removes it. The browser's Back button doesn't return to the old one. */
export function writeProject(name: string | undefined): void {
  const url = new URL(window.location.href)
  if (name === undefined) url.searchParams.delete('project')
  else url.searchParams.set('project', name)
  window.history.replaceState(null, '', url)
  here.value = read()
}

/**
 * A parameter in the URL: a filter, a tab, a range or a page. A component that reads it is rendered again when it
 * changes.
 */
export function param(name: string): string | undefined {
  return here.value.query.get(name) ?? undefined
}

/**
 * Changes the query. Use `push` for choices that the reader may want to undo with the Back button, but not for typing.
 */
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
