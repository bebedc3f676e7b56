/** Where the service is. The built files are in `console/assets/` below it, and a proxy may have put a prefix before it. */
export const BASE = new URL('../../', import.meta.url)

/** The address of a page of the console, in the project that the reader is in. */
export function href(path: string): string {
  return BASE.pathname + inSameProject(path).replace(/^\//, '')
}

/** The path with the project that the address names, unless it names one itself. */
export function inSameProject(path: string): string {
  const project = new URLSearchParams(window.location.search).get('project')
  if (project === null || /[?&]project=/.test(path)) return path
  return `${path}${path.includes('?') ? '&' : '?'}project=${encodeURIComponent(project)}`
}
