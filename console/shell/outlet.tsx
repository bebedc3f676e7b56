import { useEffect, useState } from 'preact/hooks'
import type { MoorageError } from '../../sdk/client.ts'
import { here } from '../lib/location.ts'
import { matchRoute, type PageComponent, type Params } from '../routes.ts'
import { Empty } from '../ui/empty.tsx'
import { Failure } from '../ui/failure.tsx'

type Shown = { path: string; Component: PageComponent; params: Params }

/** The page of the address. The one before it stays until the new one is there, so that nothing flashes. */
export function Outlet() {
  const { path } = here.value
  const [shown, setShown] = useState<Shown | undefined>(undefined)
  const [error, setError] = useState<MoorageError | undefined>(undefined)
  const match = matchRoute(path)
  useEffect(() => {
    let isCurrent = true
    setError(undefined)
    match?.route.load().then(
      (Component) => isCurrent && setShown({ path: match.route.path, Component, params: match.params }),
      (cause: Error) => isCurrent && setError(cause as MoorageError),
    )
    return () => {
      isCurrent = false
    }
  }, [path])
  if (!match) {
    return (
      <Empty title="There is no such page">
        <p>Nothing of the console is at this address. The sidebar has everything that there is.</p>
      </Empty>
    )
  }
  // A newer version of the service has other files: loading the page again gets them.
  if (error) return <Failure error={error} retry={() => window.location.reload()} />
  if (!shown) return null
  const { Component, params } = shown
  return <Component key={JSON.stringify(params) + shown.path} params={params} />
}
