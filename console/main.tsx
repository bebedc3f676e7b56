import { render } from 'preact'
import { watchLocation } from './lib/location.ts'
import { loadSession } from './lib/session.ts'
import { matchRoute } from './routes.ts'
import { App } from './shell/app.tsx'

watchLocation((path) => matchRoute(path) !== undefined)
const root = document.getElementById('app')
if (root) render(<App />, root)
void loadSession()
