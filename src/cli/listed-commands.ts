import type { Command } from 'commander'
import type { World } from './world.ts'

type Setup = (command: Command, world: World) => void

type ListedCommand = { group: string; name: string; summary: string; load(): Promise<Setup> }

/**
 * Every command. The code of a command is loaded when it is called, so that --help is quick and nothing here imports
 * the server.
 */
export const COMMANDS: readonly ListedCommand[] = [
  {
    group: 'Agents',
    name: 'init',
    summary: 'Write an agent.yaml to start from',
    load: async () => (await import('./commands/agents/init.ts')).init,
  },
  {
    group: 'Agents',
    name: 'deploy',
    summary: 'Create or update the agent that agent.yaml describes, and deploy it',
    load: async () => (await import('./commands/agents/deploy.ts')).deploy,
  },
  {
    group: 'Agents',
    name: 'diff',
    summary: 'Show what deploying agent.yaml would change',
    load: async () => (await import('./commands/agents/diff.ts')).diff,
  },
  {
    group: 'Agents',
    name: 'dev',
    summary: 'Deploy on every save and follow the logs',
    load: async () => (await import('./commands/agents/dev.ts')).dev,
  },
  {
    group: 'Agents',
    name: 'rollback',
    summary: 'Return to what was served before, or to an earlier deployment',
    load: async () => (await import('./commands/agents/deployments.ts')).rollback,
  },
  {
    group: 'Agents',
    name: 'deployments',
    summary: 'What each environment serves, and served before',
    load: async () => (await import('./commands/agents/deployments.ts')).deployments,
  },
  {
    group: 'Agents',
    name: 'agents',
    summary: 'List, change and delete agents',
    load: async () => (await import('./commands/agents/agents.ts')).agents,
  },
  {
    group: 'Agents',
    name: 'remote',
    summary: 'Agents that run elsewhere: check that they keep the contract',
    load: async () => (await import('./commands/agents/check-remote.ts')).remote,
  },
  {
    group: 'Talk',
    name: 'invoke',
    summary: 'Say something to an agent and print its answer',
    load: async () => (await import('./commands/talk/invoke.ts')).invoke,
  },
  {
    group: 'Talk',
    name: 'chat',
    summary: 'Have a conversation with an agent',
    load: async () => (await import('./commands/talk/chat.ts')).chat,
  },
  {
    group: 'Talk',
    name: 'invocations',
    summary: 'What was asked and answered; follow or cancel it',
    load: async () => (await import('./commands/talk/invocations.ts')).invocations,
  },
  {
    group: 'Talk',
    name: 'approvals',
    summary: 'What agents ask people: approve, reject, answer',
    load: async () => (await import('./commands/talk/approvals.ts')).approvals,
  },
  {
    group: 'Talk',
    name: 'callbacks',
    summary: 'Addresses that hear how one invocation ends',
    load: async () => (await import('./commands/talk/callbacks.ts')).callbacks,
  },
  {
    group: 'Talk',
    name: 'files',
    summary: 'Upload, list, download and delete files',
    load: async () => (await import('./commands/talk/files.ts')).files,
  },
  {
    group: 'Talk',
    name: 'schedules',
    summary: 'What an agent is asked at certain times',
    load: async () => (await import('./commands/talk/schedules.ts')).schedules,
  },
  {
    group: 'Talk',
    name: 'memory',
    summary: 'What an agent remembers: search, list, add, change, forget',
    load: async () => (await import('./commands/talk/memories.ts')).memory,
  },
  {
    group: 'Talk',
    name: 'users',
    summary: 'Whom an agent remembers; export and erase a user',
    load: async () => (await import('./commands/talk/users.ts')).users,
  },
  {
    group: 'Watch',
    name: 'logs',
    summary: 'What an agent reports; -f goes on',
    load: async () => (await import('./commands/watch/logs.ts')).logs,
  },
  {
    group: 'Watch',
    name: 'metrics',
    summary: 'Throughput, response times and errors of an agent',
    load: async () => (await import('./commands/watch/metrics.ts')).metrics,
  },
  {
    group: 'Watch',
    name: 'usage',
    summary: 'What models have used and cost',
    load: async () => (await import('./commands/watch/show-usage.ts')).usage,
  },
  {
    group: 'Watch',
    name: 'webhooks',
    summary: 'Have events sent to you, and see what was sent',
    load: async () => (await import('./commands/watch/webhooks.ts')).webhooks,
  },
  {
    group: 'Access',
    name: 'keys',
    summary: 'API keys: who may do what',
    load: async () => (await import('./commands/access/keys.ts')).keys,
  },
  {
    group: 'Access',
    name: 'people',
    summary: 'People: list, invite, give roles, remove',
    load: async () => (await import('./commands/access/people.ts')).people,
  },
  {
    group: 'Access',
    name: 'budgets',
    summary: 'Limit what calls of models may spend',
    load: async () => (await import('./commands/access/budgets.ts')).budgets,
  },
  {
    group: 'Access',
    name: 'prices',
    summary: 'What models cost: set, list, delete',
    load: async () => (await import('./commands/access/prices.ts')).prices,
  },
  {
    group: 'Access',
    name: 'projects',
    summary: 'Projects: create, list, change, delete; move agents between them',
    load: async () => (await import('./commands/access/projects.ts')).projects,
  },
  {
    group: 'Access',
    name: 'secrets',
    summary: 'Secrets that tools use: set, list, remove',
    load: async () => (await import('./commands/access/secrets.ts')).secrets,
  },
  {
    group: 'Access',
    name: 'providers',
    summary: 'Model providers: set, list, test, models, remove',
    load: async () => (await import('./commands/access/providers.ts')).providers,
  },
  {
    group: 'Access',
    name: 'login',
    summary: 'Remember where a service is and your key for it',
    load: async () => (await import('./commands/access/login.ts')).login,
  },
  {
    group: 'Access',
    name: 'logout',
    summary: 'Forget a login; the key itself stays valid',
    load: async () => (await import('./commands/access/login.ts')).logout,
  },
  {
    group: 'Access',
    name: 'whoami',
    summary: 'Which service is used, with which key, and what it may do',
    load: async () => (await import('./commands/access/login.ts')).whoami,
  },
  {
    group: 'Access',
    name: 'profile',
    summary: 'Logins: list them, choose one',
    load: async () => (await import('./commands/access/login.ts')).profile,
  },
  {
    group: 'Access',
    name: 'mfa',
    summary: 'Second factors of keys',
    load: async () => (await import('./commands/access/mfa.ts')).mfa,
  },
  {
    group: 'Access',
    name: 'console',
    summary: 'Who is signed in to the web console',
    load: async () => (await import('./commands/access/console.ts')).consoleSessions,
  },
  {
    group: 'Access',
    name: 'audit',
    summary: 'Who did what, who was refused, and whether the log is whole',
    load: async () => (await import('./commands/access/audit.ts')).audit,
  },
  {
    group: 'Service',
    name: 'start',
    summary: 'Start the service in this terminal; Ctrl-C stops it',
    load: async () => (await import('./commands/service/start.ts')).start,
  },
  {
    group: 'Service',
    name: 'pause',
    summary: 'Stop everything that may cost money, at once; nothing is lost',
    load: async () => (await import('./commands/service/pause-and-resume.ts')).pause,
  },
  {
    group: 'Service',
    name: 'resume',
    summary: 'Go on after a pause',
    load: async () => (await import('./commands/service/pause-and-resume.ts')).resume,
  },
  {
    group: 'Service',
    name: 'doctor',
    summary: 'Look for what is wrong: this machine, the store, the service',
    load: async () => (await import('./commands/service/doctor.ts')).doctor,
  },
  {
    group: 'Service',
    name: 'system',
    summary: 'The state of the service: version, nodes, queues, size of the database, configuration in force',
    load: async () => (await import('./commands/service/system.ts')).system,
  },
  {
    group: 'Service',
    name: 'telemetry',
    summary: 'What a node counts of itself: requests, queues, commits, memory',
    load: async () => (await import('./commands/service/show-telemetry.ts')).telemetry,
  },
  {
    group: 'Service',
    name: 'backup',
    summary: 'Copy the store while the service goes on',
    load: async () => (await import('./commands/service/backup.ts')).backup,
  },
  {
    group: 'Service',
    name: 'restore',
    summary: 'Put a backup in the place of the store',
    load: async () => (await import('./commands/service/restore.ts')).restore,
  },
  {
    group: 'Service',
    name: 'config',
    summary: "The service's configuration on this machine",
    load: async () => (await import('./commands/service/show-config.ts')).config,
  },
  {
    group: 'Service',
    name: 'open',
    summary: 'Open the console in the browser, signed in by a link that works once',
    load: async () => (await import('./commands/service/open.ts')).open,
  },
  {
    group: 'Service',
    name: 'api',
    summary: 'Send any request to the API and print the whole reply',
    load: async () => (await import('./commands/service/api.ts')).api,
  },
  {
    group: 'Service',
    name: 'completion',
    summary: 'Print a completion script for your shell',
    load: async () => (await import('./commands/service/completion.ts')).completion,
  },
]
