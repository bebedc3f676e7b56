import type { SourceFile } from './imports.ts'

type Arrows = Pick<SourceFile, 'file' | 'imports'>

/**
 * The layers of the console from the top. Each may use those below it. A page is loaded through its line in
 * `routes.ts`.
 */
const FLOORS = ['main.tsx', 'chat', 'shell', 'routes.ts', 'pages', 'ui', 'lib']

/** Folders of `pages/` that other pages may use, and for what. */
const SHARED_PAGES: Record<string, string> = {
  agent: 'the frame and the tabs that every page of an agent has',
}

/** What a lower layer may use of a higher one, and why. */
const DECLARED: Record<string, string> = {
  'pages → routes.ts': 'a page is given the parameters of its path',
}

/** Every import that the layers don't allow, as `from → to`. */
export function wrongConsoleArrows(files: readonly Arrows[]): string[] {
  return files.flatMap(({ file, imports }) =>
    imports.filter(({ to }) => !isAllowed(file, to)).map(({ to }) => `${file} → ${to}`),
  )
}

function isAllowed(from: string, to: string): boolean {
  // The client is a separate package, and the gallery is data. Everything else on the server is off limits.
  if (to.startsWith('..')) return to.startsWith('../sdk/') || to.startsWith('../gallery/')
  if (!/\.tsx?$/.test(to)) return true
  const [user, used] = [floorOf(from), floorOf(to)]
  if (user === 'pages' && used === 'pages') return isPageAllowed(from, to)
  return FLOORS.indexOf(user) <= FLOORS.indexOf(used) || `${user} → ${used}` in DECLARED
}

/** A file at the top of `pages/` names the pages that are loaded together. */
function isPageAllowed(from: string, to: string): boolean {
  const [user, used] = [pageOf(from), pageOf(to)]
  return user === undefined || user === used || (used !== undefined && used in SHARED_PAGES)
}

export function floorOf(file: string): string {
  return file.split('/')[0] ?? ''
}

function pageOf(file: string): string | undefined {
  const [, page, inside] = file.split('/')
  return inside === undefined ? undefined : page
}

export const CONSOLE_FLOORS = FLOORS
