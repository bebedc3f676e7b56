import { test } from 'node:test'
import { type ConsoleScene, inHarbour } from '../../support/console/console-scene.ts'

const OF_AGENTS = new Set([
  'playground',
  'deployments',
  'logs',
  'metrics',
  'memory',
  'schedules',
  'share',
  'settings',
  'tools',
])

/** What is measured while the test runs, not by the clock of the service. */
const MEASURED: Record<string, [RegExp, string][]> = {
  deliveries: [[/\b\d+ ms\b/g, 'duration']],
  webhooks: [[/\b\d+ ms\b/g, 'duration']],
  // When keys were last used is stored in the background.
  keys: [[/(?<=td\.number\n +)(span\.soft “never”|time “.*)/g, 'last use']],
  system: [
    [/(?<=title=)Mozilla.*/g, 'its browser'],
    [/(?<=“\d+\.\d+\.\d+ \()[0-9a-f]{12}(?=\)”)/g, 'commit'],
    [/“\d+%”/g, 'share'],
    [/“[\d.,]+ [KMG]B”/g, 'size'],
    [/time “in \d+d”.*/g, 'time of the machine'],
  ],
}

inHarbour('what the pages of the console say', (open, harbour) => {
  let scene: ConsoleScene

  test('the list of agents and the frame', async (t) => {
    scene = await open('/')
    await scene.look('agents, with the frame', 'body')
    await scene.open('/?sort=-created_at')
    scene.approve(t, 'agents/list')
  })

  const pages: Record<string, () => string[]> = {
    playground: () => ['/agents/support?session=order-4720', '/agents/night-watch', '/agents/ferry'],
    deployments: () => [
      '/agents/support/deployments',
      '/agents/support/deployments?environment=staging',
      '/agents/pilot/deployments',
      `/deployments/${harbour().deployment}`,
    ],
    logs: () => ['/agents/cashier/logs', '/agents/cashier/logs?level=error', '/agents/night-watch/logs'],
    metrics: () => ['/agents/support/metrics', '/agents/night-watch/metrics'],
    memory: () => [
      '/agents/support/memory',
      '/agents/support/memory?kind=note',
      '/agents/support/memory?search=boat',
      '/agents/support/memory?view=users',
      '/agents/support/memory?view=sessions',
      '/agents/night-watch/memory',
    ],
    schedules: () => ['/agents/support/schedules', '/agents/pilot/schedules'],
    share: () => ['/agents/pilot/share'],
    settings: () => ['/agents/pilot/settings', '/agents/ferry/settings', '/agents/support/settings?view=yaml'],
    tools: () => ['/agents/cashier/settings?view=tools', '/agents/pilot/settings?view=tools'],
    activity: () => ['/activity', '/activity?status=failed&agent=support', '/activity?user=nobody'],
    requests: () =>
      [harbour().rope, harbour().paid, harbour().unfit, 'req_0000000000NOWHERE'].map((id) => `/activity/${id}`),
    approvals: () => ['/approvals', '/approvals?status=any', '/approvals?status=expired'],
    feedback: () => ['/feedback', '/feedback?score=good', '/feedback?version=nowhere'],
    usage: () => ['/usage', '/usage?by=agent', '/usage?by=door&range=30d', '/usage?user_id=customer-3'],
    budgets: () => ['/usage/budgets'],
    prices: () => ['/usage/prices'],
    files: () => ['/files', '/files?user=customer-3', '/files?user=nobody'],
    webhooks: () => [
      '/webhooks',
      '/webhooks?status=disabled',
      `/webhooks/${harbour().well}`,
      `/webhooks/${harbour().broken}`,
    ],
    deliveries: () => [`/deliveries/${harbour().told}`],
    connections: () => ['/connections', '/connections?view=secrets'],
    keys: () => ['/keys', '/keys?status=revoked', '/keys?offset=50', `/keys/${harbour().reports}`],
    projects: () => ['/projects'],
    system: () => ['/system', '/system?view=sessions'],
    audit: () => ['/system?view=audit', '/system?view=audit&outcome=refused'],
    configuration: () => ['/system?view=settings'],
  }
  for (const [name, paths] of Object.entries(pages)) {
    test(name, async (t) => {
      for (const path of paths()) await scene.open(path)
      scene.approve(t, `${OF_AGENTS.has(name) ? 'agents' : 'service'}/${name}`, MEASURED[name])
    })
  }
})
