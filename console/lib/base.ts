/**
 * The service's URL. The built files are in `console/assets/` below it, and a proxy may have added a prefix before it.
 */
export const BASE = new URL('../../', import.meta.url)

/** The URL of a console page, in the project that is open. */
export function href(path: string): string {
  return BASE.pathname + inSameProject(path).replace(/^\//, '')
}

/** The path with the project in the current URL, unless the path names a project itself. */
export function inSameProject(path: string): string {
  const project = new URLSearchParams(window.location.search).get('project')
  if (project === null || /[?&]project=/.test(path)) return path
  return `${path}${path.includes('?') ? '&' : '?'}project=${encodeURIComponent(project)}`
}
