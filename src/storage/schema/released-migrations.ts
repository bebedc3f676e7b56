import type { Migration } from './migration.ts'
import { frozenMigration } from './migrations/frozen-migration.ts'

/** The schema of Moorage 0.1.0, with which every released store begins. */
export const firstRelease: Migration = frozenMigration('0001-first-release')

/** Runs of a session take turns, and background runs have priorities. */
const sessionTurns = frozenMigration('0002-session-turns', { touches: { runs: 'read' } })

/** Feedback on answers. */
const feedback = frozenMigration('0003-feedback')

/** Metrics by version. */
const versionMetrics = frozenMigration('0004-version-metrics')

/** Memories record the deployment whose run wrote them, so a rollback can remove them. */
const forgottenMemories = frozenMigration('0005-forgotten-memories', {
  touches: { memories: 'read', deployments: 'read' },
})

/** Addresses that turn signed requests into runs. */
const triggers = frozenMigration('0006-triggers')

/** Messages that are sent to an agent again, and the answers. */
const replays = frozenMigration('0007-replays')

/** Links that open a chat with an agent. */
const chatLinks = frozenMigration('0008-chat-links')

/** Tools sign in to other services, in the user's name or the project's. */
const connections = frozenMigration('0009-connections', { touches: { approvals: 'read' } })

/** Servers ask users for more scopes. */
const widerGrants = frozenMigration('0010-wider-grants')
/** Applications that people connect by signing in. */
const applications = frozenMigration('0011-applications')
/** Answers in the conversations of chat platforms. */
const chatAnswers = frozenMigration('0012-chat-answers')
/** Deployments that get a growing share of the messages. */
const rollouts = frozenMigration('0013-rollouts')
/** The answers that the guard of a gradual deployment hasn't counted yet, and the secret of its split. */
const rolloutAnswers = frozenMigration('0014-rollout-answers')

/** In the order of their numbers. A released migration is never edited (see docs/internals/storage.md). */
export const MIGRATIONS: readonly Migration[] = [
  firstRelease,
  sessionTurns,
  feedback,
  versionMetrics,
  forgottenMemories,
  triggers,
  replays,
  chatLinks,
  connections,
  widerGrants,
  applications,
  chatAnswers,
  rollouts,
  rolloutAnswers,
]

/** Whether a store with these migrations is older than the first release. */
export function isUnreleased(names: readonly string[]): boolean {
  return names.some((name) => name.startsWith('first-schema'))
}

export const UNRELEASED =
  "the database is older than the first release of Moorage and can't be used. Move moorage.db away, or use an empty database"
