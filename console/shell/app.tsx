import { chosenProject } from '../lib/projects/chosen-project.ts'
import { hasRolesByProject, state } from '../lib/session-state.ts'
import { CodeDialog } from '../ui/dialogs/code-dialog.tsx'
import { Toasts } from '../ui/dialogs/toasts.tsx'
import { Invited } from './invited.tsx'
import { LeaveDialog } from './leave-dialog.tsx'
import { Outlet } from './outlet.tsx'
import { Palette } from './palette/palette.tsx'
import { isPaletteOpen } from './palette-state.ts'
import { PauseBanner } from './pause-banner.tsx'
import { Sidebar } from './sidebar.tsx'
import { SignIn } from './sign-in.tsx'
import { UseLink } from './use-link.tsx'

/** The whole console: the sign-in page, or the sidebar and a page. */
export function App() {
  const now = state.value
  if (now.is === 'unknown') return null
  if (now.is === 'out' && now.invitation) return <Invited invitation={now.invitation} issuers={now.issuers} />
  if (now.is === 'out') return <SignIn {...now} />
  if (now.is === 'linked') return <UseLink {...now} />
  if (now.is === 'invited') return <Invited {...now} issuers={now.session.issuers} />
  const project = chosenProject.value?.id
  // A page is opened once it is known what the reader may do there.
  const isKnown = project === undefined || project === now.session.project_id || !hasRolesByProject(now.session)
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Sidebar />
      <main id="main">
        <PauseBanner />
        {isKnown && <Outlet key={project} />}
      </main>
      <Toasts />
      <CodeDialog />
      <LeaveDialog />
      {isPaletteOpen.value && <Palette />}
    </>
  )
}
