// What the end of a run leaves: its receipt, its memories and its event, all or nothing.
import { announce } from './webhooks.ts'
import type { Agent, Run, World } from './world.ts'

/** Where a run is. Its name is its message, with a number if it isn't the first run with that message. */
export type RunName = { project: string; agent: string; name: string }

/** The message of a run. */
export const messageOf = (name: string) => name.replace(/\..*$/, '')

/** "A run ends in exactly one of four ways." A failed or cancelled invocation writes no memories. */
export function endRun(world: World, at: RunName, status: Run['status'], response: string | null): void {
  const agent = world.projects[at.project]?.agents[at.agent] as Agent
  const run = agent.runs[at.name] as Run
  run.status = status
  run.response = response
  const { user, session } = run
  if (status === 'completed' && run.answering.remember && (user !== null || session !== null)) {
    for (const role of ['user', 'assistant']) {
      agent.memories.push({ kind: 'turn', about: messageOf(at.name), role, user, session })
    }
  }
  announceRun(world, at, `agent.${status}`)
}

export function announceRun(world: World, { project, agent, name }: RunName, type: string): void {
  announce(world, { project, agent }, type, messageOf(name))
}
