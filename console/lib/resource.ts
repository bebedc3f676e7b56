import { signal } from '@preact/signals'
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { MoorageError } from '../../sdk/client.ts'
import { keep, recall } from './resource-cache.ts'

export type Resource<T> = {
  /** The latest known data. It stays while it is loaded again, or while something else is loaded in its place. */
  data: T | undefined
  error: MoorageError | undefined
  isLoading: boolean
  reload(): void
  /** Shows the reply to a change before the data is loaded again. */
  replace(data: T): void
}

const reloads = signal(0)

/** Reloads everything on the page, because something was changed from outside the page. */
export function reloadPage(): void {
  reloads.value++
}

type ResourceState<T> = {
  key: string | undefined
  data?: T | undefined
  error?: MoorageError | undefined
  isLoading: boolean
}

/**
 * Loads something that the page shows. Another key loads it again. With `everyMs`, it is loaded regularly while the
 * page is visible; the interval can depend on the data. Without a key, nothing is loaded.
 */
export function useResource<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  { everyMs }: { everyMs?: Pace<T> } = {},
): Resource<T> {
  const [loaded, setLoaded] = useState<ResourceState<T>>({ key: undefined, isLoading: key !== undefined })
  const [asked, setAsked] = useState(0)
  const latest = useRef({ load, everyMs })
  latest.current = { load, everyMs }

  useEffect(() => {
    if (key === undefined) return
    const life = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const known = recall(key) as T | undefined
    let pauseMs = paceOf(latest.current.everyMs, known)
    setLoaded((before) => ({ key, data: known ?? before.data, isLoading: true }))
    const run = async () => {
      try {
        const data = await latest.current.load(life.signal)
        if (life.signal.aborted) return
        keep(key, data)
        pauseMs = paceOf(latest.current.everyMs, data)
        setLoaded({ key, data, isLoading: false })
      } catch (error) {
        if (life.signal.aborted) return
        // The data shown until now belongs to something else.
        setLoaded({ key, data: recall(key) as T | undefined, error: error as MoorageError, isLoading: false })
      }
      if (pauseMs !== undefined) timer = setTimeout(() => whenSeen(run, life.signal), pauseMs)
    }
    void run()
    return () => {
      life.abort()
      clearTimeout(timer)
    }
  }, [key, asked, reloads.value])

  const reload = useCallback(() => setAsked((count) => count + 1), [])
  const replace = (data: T) => {
    if (key !== undefined) keep(key, data)
    setLoaded({ key, data, isLoading: true })
    reload()
  }
  const isOther = key !== undefined && loaded.key !== key
  const known = isOther ? (recall(key) as T | undefined) : undefined
  return { data: known ?? loaded.data, error: loaded.error, isLoading: isOther || loaded.isLoading, reload, replace }
}

/** Does the work now, or when the page becomes visible, because a page in the background requests nothing. */
export function whenSeen(work: () => Promise<void>, life: AbortSignal): void {
  if (!document.hidden) void work()
  else document.addEventListener('visibilitychange', () => whenSeen(work, life), { once: true, signal: life })
}

type Pace<T> = number | undefined | ((data: T) => number | undefined)

function paceOf<T>(everyMs: Pace<T>, data: T | undefined): number | undefined {
  if (typeof everyMs !== 'function') return everyMs
  return data === undefined ? undefined : everyMs(data)
}

export type Action<Args extends unknown[]> = {
  run(...args: Args): Promise<void>
  isBusy: boolean
  error: MoorageError | undefined
  /** Removes the error when the reader gives up what caused it. */
  forget(): void
}

/** An action of the reader. It is busy while it runs, and its error is shown next to the button that started it. */
export function useAction<Args extends unknown[]>(work: (...args: Args) => Promise<void>): Action<Args> {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<MoorageError | undefined>(undefined)
  return {
    isBusy,
    error,
    forget: () => setError(undefined),
    async run(...args) {
      setBusy(true)
      setError(undefined)
      try {
        await work(...args)
      } catch (caught) {
        setError(caught as MoorageError)
      } finally {
        setBusy(false)
      }
    },
  }
}
