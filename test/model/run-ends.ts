// What the end of a run leaves: its receipt, its memories and its event, all or nothing.
import { announce } from './webhooks.ts'
import type { Agent, Run, World } from './world.ts'

export type RunName = { project: string; agent: string; message: string }

/** "A run ends in exactly one of four ways." A failed or cancelled invocation writes no memories. */
export function endRun(world: World, name: RunName, status: Run['status'], response: string | null): void {
  const agent = world.projects[name.project]?.agents[name.agent] as Agent
  const run = agent.runs[name.message] as Run
  run.status = status
  run.response = response
  const { user, session } = run
  if (status === 'completed' && run.answering.remember && (user !== null || session !== null)) {
    for (const role of ['user', 'assistant']) {
      agent.memories.push({ kind: 'turn', about: name.message.replace(/\..*$/, ''), role, user, session })
    }
  }
  takesPart(world, name, `agent.${status}`)
}

export function takesPart(world: World, { project, agent, message }: RunName, type: string): void {
  announce(world, { project, agent }, type, message.replace(/\..*$/, ''))
}
