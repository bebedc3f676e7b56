import { href } from '../lib/base.ts'
import { asLeft, here } from '../lib/location.ts'
import { signOut } from '../lib/session.ts'
import { shortText } from '../lib/text/format.ts'
import { chooseTheme, theme } from '../lib/theme.ts'
import { useWaitingApprovals } from '../lib/waiting-approvals.ts'
import { shownEntries } from '../routes.ts'
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
        {shownEntries().map(({ label, icon, to }) => (
          <a key={to} href={href(asLeft(to))} aria-current={isHere(to) ? 'page' : undefined}>
            <Icon name={icon} />
            <span>{label}</span>
            {to === '/approvals' && waiting > 0 && <Badge count={waiting} />}
          </a>
        ))}
        <a href={href('/docs')}>
          <Icon name="docs" />
          <span>API docs</span>
        </a>
      </nav>
      <footer>
        <Account />
        <Button look="quiet" icon="theme" label={`Use ${other} colours`} onClick={() => chooseTheme(other)} />
        <Button look="quiet" icon="out" label="Sign out" onClick={() => void signOut()} />
      </footer>
    </aside>
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
