import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { href } from '../lib/base.ts'
import { ApiCall, type ApiRequest } from './api-call.tsx'

type Crumb = { label: string; to: string }

type Props = {
  title: string
  /** The title of the browser's tab, if it should say more. */
  windowTitle?: string
  /** What is shown before the title: the reader's location, from the top. */
  crumbs?: Crumb[]
  /** Shown next to the title, such as a status or an ID. */
  about?: ComponentChildren
  actions?: ComponentChildren
  /** The request behind the view. */
  api?: ApiRequest
  children: ComponentChildren
}

/** The layout of every page: its title, its actions and its content. */
export function Page({ title, windowTitle = title, crumbs = [], about, actions, api, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${windowTitle} · Moorage`
  }, [windowTitle])
  // A screen reader reads the title aloud, so its user notices that the page has changed.
  useEffect(() => heading.current?.focus({ preventScroll: true }), [])
  return (
    <>
      <header class="page-head">
        {crumbs.map(({ label, to }) => (
          <span key={to} class="crumb">
            <a href={href(to)}>{label}</a>
            <span aria-hidden="true">/</span>
          </span>
        ))}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {about}
        <div class="page-actions">
          {api && <ApiCall request={api} />}
          {actions}
        </div>
      </header>
      {children}
    </>
  )
}
