import { useEffect, useRef, useState } from 'preact/hooks'
import { MoorageError } from '../../sdk/client.ts'
import { BASE } from '../lib/base.ts'
import { go, here } from '../lib/location.ts'
import { may, session } from '../lib/session-state.ts'
import { matchRoute, type PageComponent, type Params, shownEntries } from '../routes.ts'
import { Empty } from '../ui/empty.tsx'
import { Failure } from '../ui/failure.tsx'
import { Page } from '../ui/page.tsx'

type ShownPage = { visit: number; Component: PageComponent; params: Params }

/** The page for the URL. The previous page stays until the new one is loaded, so nothing flashes. */
export function Outlet() {
  const { path } = here.value
  const [shown, setShown] = useState<ShownPage | undefined>(undefined)
  const [error, setError] = useState<MoorageError | undefined>(undefined)
  const [tries, setTries] = useState(0)
  // A page that is opened again starts over, even if it was still shown because the next page wasn't loaded yet.
  const visit = useRef(0)
  const match = matchRoute(path)
  const isAllowed = match?.route.needs.some(may) ?? false
  const first = shownEntries()[0]?.to
  // People arrive at the first page from elsewhere. If they can't use it, they are led to the first page that they can
  // use.
  const isElsewhere = path === '/' && !isAllowed && first !== undefined
  useEffect(() => {
    if (isElsewhere) go(first, { replace: true })
  }, [isElsewhere])
  useEffect(() => {
    let isCurrent = true
    visit.current++
    // Otherwise, the page before such a URL would be shown again after it.
    if (!match || !isAllowed) setShown(undefined)
    if (!isAllowed) return
    match?.route.load().then(
      (Component) => {
        if (!isCurrent) return
        setError(undefined)
        setShown({ visit: visit.current, Component, params: match.params })
      },
      () => void whyNot(tries).then((why) => isCurrent && setError(why)),
    )
    return () => {
      isCurrent = false
    }
  }, [path, tries, isAllowed])
  if (!match) {
    return (
      <Page key={path} title="Not found">
        <Empty title="Page not found">
          <p>There's no page at this address.</p>
        </Empty>
      </Page>
    )
  }
  if (isElsewhere) return null
  if (!isAllowed) {
    return (
      <Page key={path} title="No access">
        <Empty title="You can't open this page">
          <p>Your {session.value?.person ? 'role' : 'key'} doesn't have the permission that this page requires.</p>
        </Empty>
      </Page>
    )
  }
  if (error) return <Failure error={error} retry={() => setTries(tries + 1)} />
  if (!shown) return null
  const { Component, params } = shown
  return <Component key={shown.visit} params={params} />
}

/** Why a page's files couldn't be loaded. A newer version of the service has different files, which a reload loads. */
async function whyNot(tries: number): Promise<MoorageError> {
  const isThere = await fetch(BASE).then(
    ({ ok }) => ok,
    () => false,
  )
  if (isThere && tries > 0) window.location.reload()
  return isThere
    ? new MoorageError(
        'invalid_reply',
        'This page could not be loaded. The console might have been updated; reload the page.',
      )
    : new MoorageError('unreachable', `Cannot reach ${BASE.host}`)
}
