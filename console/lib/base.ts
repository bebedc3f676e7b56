/** Where the service is. The built files are in `console/assets/` below it, and a proxy may have put a prefix before it. */
export const BASE = new URL('../../', import.meta.url)

/** The address of a page of the console, or of anything else that the service serves. */
export function href(path: string): string {
  return BASE.pathname + path.replace(/^\//, '')
}
