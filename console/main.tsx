import { render } from 'preact'
import { MoorageError } from '../sdk/client.ts'
import { watchLocation } from './lib/location.ts'
import { watchProject } from './lib/projects/change-project.ts'
import { loadSession, watchFragment } from './lib/session.ts'
import { session } from './lib/session-state.ts'
import { restoreTheme } from './lib/theme.ts'
import { toast } from './lib/toasts.ts'
import { matchRoute } from './routes.ts'
import { App } from './shell/app.tsx'
import { watchPaletteKey } from './shell/palette-state.ts'

// Browsers load the icon again when the path changes. A relative URL would then be wrong, so it is made absolute.
for (const link of document.querySelectorAll<HTMLLinkElement>('link[rel=icon]')) link.setAttribute('href', link.href)
watchLocation((path) => matchRoute(path) !== undefined)
watchProject()
watchPaletteKey()
watchFragment()
restoreTheme()
// Shows errors that no page can show, such as those of an undo or a sign-out.
addEventListener('unhandledrejection', (event) => {
  if (!(event.reason instanceof MoorageError)) return
  event.preventDefault()
  if (session.peek()) toast(event.reason.message)
})
// The scrollbar's width, measured before a dialog hides the scrollbar (css/base.css). The root element's width doesn't
// show it, because it includes the scrollbar's space while there is nothing to scroll.
document.documentElement.style.setProperty('--gutter', `${innerWidth - document.body.offsetWidth}px`)
const root = document.getElementById('app')
if (root) render(<App />, root)
void loadSession()
