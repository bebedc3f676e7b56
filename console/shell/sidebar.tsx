import { useId, useRef } from 'preact/hooks'
import { useWaitingApprovals } from '../lib/approvals/waiting-approvals.ts'
import { href } from '../lib/base.ts'
import { asLeft, here } from '../lib/location.ts'
import { signOut } from '../lib/session.ts'
import { shortText } from '../lib/text/format.ts'
import { chooseTheme, theme } from '../lib/theme.ts'
import { type Entry, shownEntries, shownGroups } from '../routes.ts'
import { Button } from '../ui/button.tsx'
import { Icon } from '../ui/icon.tsx'
import { Account } from './account.tsx'
import { Anchor } from './anchor.tsx'
import { isMac, isPaletteOpen } from './palette-state.ts'
import { ProjectSwitch } from './project-switch.tsx'

export function Sidebar() {
  const { path } = here.value
  const waiting = useWaitingApprovals() ?? 0
  const other = theme.value === 'dark' ? 'light' : 'dark'
  const isHere = (to: string) =>
    to === '/' ? path === '/' || path.startsWith('/agents/') : path === to || path.startsWith(`${to}/`)
  return (
    <aside class="sidebar">
      <a class="brand" href={href('/')}>
        <Anchor />
        Moorage
      </a>
      <ProjectSwitch />
      <button type="button" class="find" onClick={() => (isPaletteOpen.value = true)}>
        <Icon name="search" />
        <span>Find</span>
        <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
      </button>
      <nav aria-label="Console">
        {shownGroups().map((group) => (
          <div key={group[0]?.label} class="group">
            {group.map((entry) => (
              <Link key={entry.to} {...entry} isHere={isHere(entry.to)} waiting={waiting} />
            ))}
          </div>
        ))}
        <div class="group">
          <ApiDocs />
        </div>
        <More isHere={isHere} />
      </nav>
      <footer>
        <Account />
        <Button look="quiet" icon="theme" label={`Use ${other} colors`} onClick={() => chooseTheme(other)} />
        <Button look="quiet" icon="out" label="Sign out" onClick={() => void signOut()} />
      </footer>
    </aside>
  )
}

type LinkProps = Entry & { isHere: boolean; waiting?: number }

function Link({ label, icon, to, isFirst, isHere, waiting = 0 }: LinkProps) {
  return (
    <a href={href(asLeft(to))} class={isFirst ? 'first' : ''} aria-current={isHere ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{label}</span>
      {to === '/approvals' && waiting > 0 && <Badge count={waiting} />}
    </a>
  )
}

function ApiDocs() {
  return (
    <a href={href('/docs')}>
      <Icon name="docs" />
      <span>API docs</span>
    </a>
  )
}

/** On a phone, the entries that don't fit into the bar. */
function More({ isHere }: { isHere(to: string): boolean }) {
  const id = useId()
  const menu = useRef<HTMLDivElement>(null)
  const others = shownEntries().filter(({ isFirst }) => !isFirst)
  const isOpenHere = others.some(({ to }) => isHere(to))
  return (
    <>
      <button type="button" class="more" popovertarget={id} aria-current={isOpenHere ? 'true' : undefined}>
        <Icon name="more" />
        <span>More</span>
      </button>
      <div ref={menu} id={id} class="more-menu" popover="auto" onClick={() => menu.current?.hidePopover()}>
        {others.map((entry) => (
          <Link key={entry.to} {...entry} isHere={isHere(entry.to)} />
        ))}
        <ApiDocs />
      </div>
    </>
  )
}

function Badge({ count }: { count: number }) {
  return (
    <span class="badge">
      {shortText(count)}
      <span class="hidden"> waiting</span>
    </span>
  )
}
