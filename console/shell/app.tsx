import { chosenProject } from '../lib/projects/chosen-project.ts'
import { state } from '../lib/session-state.ts'
import { CodeDialog } from '../ui/dialogs/code-dialog.tsx'
import { Toasts } from '../ui/dialogs/toasts.tsx'
import { LeaveDialog } from './leave-dialog.tsx'
import { Outlet } from './outlet.tsx'
import { Palette } from './palette/palette.tsx'
import { isPaletteOpen } from './palette-state.ts'
import { Sidebar } from './sidebar.tsx'
import { SignIn } from './sign-in.tsx'
import { UseLink } from './use-link.tsx'

/** The whole console: a page to sign in, or the sidebar and a page. */
export function App() {
  const now = state.value
  if (now.is === 'unknown') return null
  if (now.is === 'out') return <SignIn reason={now.reason} />
  if (now.is === 'linked') return <UseLink {...now} />
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <Sidebar />
      <main id="main">
        <Outlet key={chosenProject.value?.id} />
      </main>
      <Toasts />
      <CodeDialog />
      <LeaveDialog />
      {isPaletteOpen.value && <Palette />}
    </>
  )
}
