import type { Command } from 'commander'
import type { World } from './world.ts'

type Setup = (command: Command, world: World) => void

/** A summary, and the module that exports the command under its name. */
type CommandEntry<Name extends string> = readonly [
  summary: string,
  load: () => Promise<{ readonly [N in Name]: Setup }>,
]

type ListedCommand = { group: string; name: string; summary: string; load(): Promise<Setup> }

const group = <const G extends { [N in keyof G & string]: CommandEntry<N> }>(
  name: string,
  commands: G,
): ListedCommand[] =>
  Object.entries<CommandEntry<string>>(commands).map(([own, [summary, load]]) => ({
    group: name,
    name: own,
    summary,
    load: async () => (await load())[own] as Setup,
  }))

/**
 * All commands. A command's code is loaded when it is called, so --help is fast and nothing here imports the server.
 */
export const COMMANDS: readonly ListedCommand[] = [
  ...group('Agents', {
    init: ['Create an agent.yaml', () => import('./commands/agents/init.ts')],
    deploy: ['Create or update the agent in agent.yaml and deploy it', () => import('./commands/agents/deploy.ts')],
    diff: ['Show what deploying agent.yaml would change', () => import('./commands/agents/diff.ts')],
    dev: ['Redeploy on every save and show the logs', () => import('./commands/agents/dev.ts')],
    rollback: ['Roll back to the previous or an earlier deployment', () => import('./commands/agents/deployments.ts')],
    deployments: ['List, show, compare and create deployments', () => import('./commands/agents/deployments.ts')],
    sets: [
      'Manage sets of messages that an agent should answer well',
      () => import('./commands/replays/manage-replays.ts'),
    ],
    replay: ['Replay a set and compare the answers, for CI', () => import('./commands/replays/run-replay.ts')],
    replays: ['Start, list and show replays', () => import('./commands/replays/manage-replays.ts')],
    agents: ['List, change and delete agents', () => import('./commands/agents/agents.ts')],
    remote: ["Check a remote agent's implementation", () => import('./commands/agents/check-remote.ts')],
  }),
  ...group('Talk', {
    invoke: ['Send a message to an agent and print the answer', () => import('./commands/talk/invoke.ts')],
    chat: ['Chat with an agent', () => import('./commands/talk/chat.ts')],
    invocations: ['List, show, follow, cancel and erase invocations', () => import('./commands/talk/invocations.ts')],
    approvals: ['List and decide approvals and questions', () => import('./commands/talk/approvals.ts')],
    feedback: ['Rate answers, and list ratings and comments', () => import('./commands/talk/invocations.ts')],
    callbacks: ['Get notified when one invocation ends', () => import('./commands/watch/webhooks.ts')],
    files: ['Upload, list, download and delete files', () => import('./commands/talk/files.ts')],
    links: ['Share an agent by a link, without keys', () => import('./commands/talk/triggers-and-links.ts')],
    schedules: ['Run an agent on a schedule', () => import('./commands/talk/schedules.ts')],
    triggers: [
      'Run an agent when another service sends an event',
      () => import('./commands/talk/triggers-and-links.ts'),
    ],
    memory: ["Search and edit an agent's memory", () => import('./commands/talk/memories.ts')],
    users: ['List, export and erase users', () => import('./commands/talk/users.ts')],
  }),
  ...group('Watch', {
    logs: ["Show an agent's logs (-f to follow)", () => import('./commands/watch/logs.ts')],
    metrics: ["Show an agent's throughput, response times and error rate", () => import('./commands/watch/metrics.ts')],
    usage: ['Show token usage and costs', () => import('./commands/watch/usage-and-prices.ts')],
    webhooks: ['Manage webhooks and their deliveries', () => import('./commands/watch/webhooks.ts')],
  }),
  ...group('Access', {
    keys: ['Manage API keys', () => import('./commands/access/keys.ts')],
    people: ['Manage people and their roles', () => import('./commands/access/people.ts')],
    budgets: ['Limit spending on model calls', () => import('./commands/access/budgets.ts')],
    prices: ['Set, list and delete model prices', () => import('./commands/watch/usage-and-prices.ts')],
    projects: ['Manage projects and move agents between them', () => import('./commands/access/projects.ts')],
    connections: ['Sign tools in to other services', () => import('./commands/access/sign-tools-in.ts')],
    applications: [
      'List and revoke applications that people have connected',
      () => import('./commands/access/sign-tools-in.ts'),
    ],
    secrets: ['Manage secrets for tools', () => import('./commands/access/providers-and-secrets.ts')],
    providers: ['Manage model providers', () => import('./commands/access/providers-and-secrets.ts')],
    login: ['Log in to a service', () => import('./commands/access/login.ts')],
    logout: ['Log out (the key stays valid)', () => import('./commands/access/login.ts')],
    whoami: ['Show the current service, key and permissions', () => import('./commands/access/login.ts')],
    profile: ['List logins and switch between them', () => import('./commands/access/login.ts')],
    mfa: ['Manage second factors of keys', () => import('./commands/access/mfa.ts')],
    console: ['List and end console sessions', () => import('./commands/service/open.ts')],
    audit: ['Show and verify the audit log', () => import('./commands/access/audit.ts')],
  }),
  ...group('Service', {
    start: ['Start the service in this terminal (Ctrl-C stops it)', () => import('./commands/service/start.ts')],
    pause: ['Pause all runs in the project (nothing is lost)', () => import('./commands/service/system.ts')],
    resume: ['Resume after a pause', () => import('./commands/service/system.ts')],
    doctor: [
      'Diagnose problems with the machine, the data and the service',
      () => import('./commands/service/checks/doctor.ts'),
    ],
    system: [
      "Show the service's version, nodes, queues, database size and configuration",
      () => import('./commands/service/system.ts'),
    ],
    telemetry: ["Show a node's internal metrics", () => import('./commands/service/system.ts')],
    upgrade: ['Show what an upgrade changes, before it starts', () => import('./commands/service/checks/upgrade.ts')],
    backup: ['Back up the data while the service is running', () => import('./commands/service/backup.ts')],
    export: ['Write a project to a file, to move it to another service', () => import('./commands/service/export.ts')],
    import: ['Create a project from a file of `moorage export`', () => import('./commands/service/import.ts')],
    restore: ['Restore a backup', () => import('./commands/service/restore.ts')],
    config: [
      "Show and check the service's configuration on this machine",
      () => import('./commands/service/show-config.ts'),
    ],
    open: ['Open the console in your browser, signed in', () => import('./commands/service/open.ts')],
    api: ['Send a request to the API and print the response', () => import('./commands/service/api.ts')],
    completion: ['Print a completion script for your shell', () => import('./commands/service/completion.ts')],
  }),
]
