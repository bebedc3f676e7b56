import { ApiError } from '../../../errors.ts'
import type { SignedIn } from '../../pipeline/edge.ts'
import type { Endpoint } from '../endpoint.ts'
import type { Front } from '../front.ts'
import { sendPage } from '../replies/send-page.ts'
import type { Router } from '../router.ts'
import { ConsoleFiles } from './console-files.ts'
import { sessionPages } from './console-session-pages.ts'
import { devicePages } from './device-pages.ts'
import { issuerPages } from './issuer-pages.ts'

/** The first segments of the console's paths. Up to `DEPTH` more may follow. */
const PAGES = [
  'agents',
  'applications',
  'activity',
  'approvals',
  'feedback',
  'deployments',
  'deliveries',
  'webhooks',
  'connections',
  'files',
  'keys',
  'projects',
  'people',
  'system',
  'usage',
]
const DEPTH = 4

const NOT_BUILT = `The console is not built yet. Build it with:

  npm run build

The API reference is at /docs
`

/** Adds the console: its page on all its paths, its files, and signing in. */
export function addConsoleRoutes(endpoints: Router<Endpoint>, front: Front, console: SignedIn): void {
  const { door } = console
  const files = new ConsoleFiles(front.edge.pagesFolder)

  const page: Endpoint['page'] = async (arrived, response) => {
    door.checkHost(arrived)
    const found = await files.page(arrived.path)
    const headers = { 'Content-Type': 'text/plain; charset=utf-8' }
    sendPage(response, arrived.headers, found ?? { status: 503, headers, body: Buffer.from(NOT_BUILT) })
  }
  const asset: Endpoint['page'] = async (arrived, response) => {
    const accepted = String(arrived.message.headers['accept-encoding'] ?? '')
    const found = await files.asset(arrived.params['file'] ?? '', accepted)
    if (!found) throw new ApiError('not_found', 'File not found.')
    sendPage(response, arrived.headers, found)
  }

  endpoints.add('GET', '/', { open: true, page })
  for (const first of PAGES) {
    for (let depth = 0; depth <= DEPTH; depth++) {
      endpoints.add('GET', `/${first}${pathOf(depth)}`, { open: true, forBrowsers: true, page })
    }
  }
  endpoints.add('GET', '/console/assets/{file}', { open: true, page: asset })
  for (const { method, endpoint } of sessionPages(front, console)) endpoints.add(method, '/console/session', endpoint)
  const pages = [...issuerPages(front, console), ...devicePages(front, console)]
  for (const { method, path, endpoint } of pages) endpoints.add(method, path, endpoint)
}

function pathOf(depth: number): string {
  return Array.from({ length: depth }, (_, at) => `/{word_${at}}`).join('')
}
