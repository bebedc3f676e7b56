// docs/memory.md, docs/files.md and docs/privacy.md: what is kept about whom, and what is gone.
import { agentOf, asker, projectName, projectOf } from './access.ts'
import type { Act } from './act.ts'
import type { RunName } from './run-ends.ts'
import { type Memory, Refusal, type Run, type World } from './world.ts'

export function writeMemory(world: World, act: Extract<Act, { do: 'write memory' }>) {
  asker(world, act, 'write')
  const { about, user, session } = act
  agentOf(world, act).memories.push({ kind: 'note', about, role: null, user, session })
  return { status: 201, says: { written: 1 } }
}

/** "Deletes everything the agent remembers, or what matches all of the given filters." */
export function forget(world: World, act: Extract<Act, { do: 'forget' }>) {
  asker(world, act, 'delete')
  const agent = agentOf(world, act)
  const isMeant = ({ user, session }: Memory) =>
    (act.user === null || act.user === user) && (act.session === null || act.session === session)
  const deleted = agent.memories.filter(isMeant).length
  agent.memories = agent.memories.filter((memory) => !isMeant(memory))
  return { status: 200, says: { deleted } }
}

/** docs/privacy.md: what is erased of all agents that the key has access to. Receipts are kept without content and user. */
export function eraseUser(world: World, act: Extract<Act, { do: 'erase user' }>) {
  const key = asker(world, act, 'delete')
  const project = projectOf(world, act)
  // "Active runs aren't stopped. `unfinished` shows how many there are".
  let unfinished = 0
  for (const [name, agent] of Object.entries(project.agents)) {
    if (key.agent !== null && key.agent !== name) continue
    agent.memories = agent.memories.filter(({ user }) => user !== act.user)
    for (const [message, run] of Object.entries(agent.runs)) {
      if (run.user !== act.user) continue
      if (run.status === 'waiting') unfinished += 1
      else eraseReceipt(world, run, { project: projectName(world, act), agent: name, name: message })
    }
  }
  // "Replies stored for an `Idempotency-Key` | Deleted completely." Those that name the user are about no run.
  for (const reply of Object.values(world.replies)) {
    const { user, place } = reply
    if (user !== act.user || place?.project !== projectName(world, act)) continue
    if (key.agent === null || place.agent === key.agent) reply.isErased = true
  }
  if (key.agent === null) {
    for (const [name, { user }] of Object.entries(project.files)) if (user === act.user) delete project.files[name]
  }
  return { status: 200, says: { unfinished } }
}

/** docs/api.md: the content of an invocation that has ended is deleted. "Memories are not affected." */
export function eraseRun(world: World, act: { by: string; project: string; agent: string; message: string }) {
  asker(world, act, 'delete')
  const run = agentOf(world, act).runs[act.message]
  if (!run) throw new Refusal(404, 'not_found')
  if (run.status === 'waiting') throw new Refusal(409, 'conflict')
  eraseReceipt(world, run, { project: projectName(world, act), agent: act.agent, name: act.message })
  return { status: 200 }
}

function eraseReceipt(world: World, run: Run, { project, agent, name }: RunName) {
  if (run.message === null) return
  for (const reply of Object.values(world.replies)) {
    const about = reply.run
    if (about?.project === project && about.agent === agent && about.name === name) reply.isErased = true
  }
  Object.assign(run, { message: null, response: null, user: null, session: null })
}

export function upload(world: World, act: Extract<Act, { do: 'upload' }>) {
  asker(world, act, 'invoke')
  projectOf(world, act).files[act.file] = { content: act.content, user: act.user, by: act.by }
  return { status: 201, says: { name: act.file, size: act.content.length } }
}

export function deleteFile(world: World, act: Extract<Act, { do: 'delete file' }>) {
  const key = asker(world, act, 'delete')
  const { files } = projectOf(world, act)
  if (!files[act.file]) throw new Refusal(404, 'not_found')
  if (key.agent !== null && files[act.file]?.by !== act.by) throw new Refusal(404, 'not_found')
  delete files[act.file]
  return { status: 200, says: { deleted: true } }
}
