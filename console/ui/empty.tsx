import type { ComponentChildren } from 'preact'
import { param, setParams } from '../lib/location.ts'
import { Button } from './button.tsx'

type Props = {
  title: string
  /** The URL parameters that filter rows. If one is set, that is why there are none. */
  filters?: readonly string[]
  children?: ComponentChildren
}

/** Shown if there is nothing yet. Says what will be shown here and how to add it. */
export function Empty({ title, filters = [], children }: Props) {
  if (filters.some(param)) {
    return (
      <div class="empty">
        <h2>No results</h2>
        <p>Nothing matches the filters.</p>
        <Button icon="close" onClick={() => clearFilters(filters)}>
          Clear filters
        </Button>
      </div>
    )
  }
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function clearFilters(names: readonly string[]): void {
  const cleared = Object.fromEntries(names.map((name) => [name, undefined]))
  setParams({ ...cleared, offset: undefined }, { push: true })
}
