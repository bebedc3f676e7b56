import { asLeft, here } from '../../lib/location.ts'
import { agentPath, requestPath } from '../../lib/paths.ts'
import { may } from '../../lib/session-state.ts'
import { TABS } from '../../pages/agent/tabs.ts'
import { matchRoute, shownEntries } from '../../routes.ts'
import type { IconName } from '../../ui/icon.tsx'
import { agentCommands, projectCommands, serviceCommands, type Target } from './commands.ts'

const MAX_TARGETS = 12

/** Kinds of IDs that have their own pages, by prefix. */
const PAGES_OF_IDS: Record<string, { label: string; icon: IconName; path(id: string): string }> = {
  req: { label: 'request', icon: 'activity', path: requestPath },
  agt: { label: 'agent', icon: 'agents', path: (id) => agentPath(id) },
  whk: { label: 'webhook', icon: 'webhooks', path: (id) => `/webhooks/${id}` },
  dep: { label: 'deployment', icon: 'send', path: (id) => `/deployments/${id}` },
  dlv: { label: 'delivery', icon: 'webhooks', path: (id) => `/deliveries/${id}` },
  prs: { label: 'person', icon: 'people', path: (id) => `/people/${id}` },
  bud: { label: 'budget', icon: 'usage', path: (id) => `/usage/budgets?budget=${id}` },
  file: { label: 'file', icon: 'files', path: (id) => `/files?file=${id}` },
  key: { label: 'key', icon: 'keys', path: (id) => `/keys/${id}` },
}

/** What the typed words may mean, best match first. */
export function findTargets(typed: string, agents: Iterable<string>): Target[] {
  const text = typed.trim()
  const byId = targetOfId(text)
  if (byId) return [byId]
  const words = text.toLowerCase().split(/\s+/)
  const own = agentHere()
  if (!text) return [...(own ? agentCommands(own) : []), ...pages(), ...serviceCommands()].slice(0, MAX_TARGETS)
  const names = [...agents]
  const commands = new Set(names.flatMap(agentCommands))
  const all = [...pages(), ...names.flatMap(pagesOfAgent), ...commands, ...serviceCommands(), ...projectCommands()]
  const matching = all.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)))
  // The open agent comes first. Short labels come before longer ones, so an agent comes before its tabs. Commands for
  // other agents come last.
  const rank = (target: Target) => {
    if (own && target.label.startsWith(`${own} ›`)) return target.label.length - 1_000
    return target.label.length + (commands.has(target) ? 1_000 : 0)
  }
  return matching.toSorted((a, b) => rank(a) - rank(b)).slice(0, MAX_TARGETS)
}

function targetOfId(text: string): Target | undefined {
  const [, kind = ''] = /^([a-z]{3,4})_[0-9A-Za-z]{10,}$/.exec(text) ?? []
  const found = PAGES_OF_IDS[kind]
  return found && { id: text, label: `Go to the ${found.label}`, about: text, icon: found.icon, to: found.path(text) }
}

function pages(): Target[] {
  return shownEntries().map(({ label, icon, to }) => ({
    id: `page ${to}`,
    label,
    icon,
    to: asLeft(to),
  }))
}

function pagesOfAgent(name: string): Target[] {
  const tabs = TABS.filter(({ id, needs }) => id && may(needs))
  return [
    { id: `agent ${name}`, label: name, about: 'agent', icon: 'agents', to: agentPath(name) },
    ...tabs.map(({ id, label }) => ({
      id: `agent ${name} ${id}`,
      label: `${name} › ${label}`,
      icon: 'right' as const,
      to: agentPath(name, id),
    })),
  ]
}

/** The agent whose page is open. */
function agentHere(): string | undefined {
  return matchRoute(here.value.path)?.params['agent']
}
