import type { ComponentChildren } from 'preact'

/** Shown where there is nothing yet: says what would be here, and how it comes here. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}
