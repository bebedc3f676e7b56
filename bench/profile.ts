import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

const SHOWN = 25
/** Time in which a thread waited. */
const WAITING = new Set(['(idle)', '(program)'])

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

/** Prints in which functions all threads of the servers were busy. */
export function printProfiles(folder: string, since: number): void {
  const files = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.cpuprofile') && statSync(file).mtimeMs >= since)
  const times = new Map<string, number>()
  for (const file of files) addTimes(times, JSON.parse(readFileSync(file, 'utf8')))
  const all = times.values().reduce((sum, time) => sum + time, 0)
  const most = [...times].toSorted(([, a], [, b]) => b - a).slice(0, SHOWN)
  console.log(`${files.length} profiles in ${folder}`)
  console.table(Object.fromEntries(most.map(([name, time]) => [name, { 'CPU %': ((time / all) * 100).toFixed(1) }])))
}

function addTimes(times: Map<string, number>, { nodes, samples, timeDeltas }: Profile): void {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  for (const [i, id] of samples.entries()) {
    const name = names.get(id) ?? ''
    if (!WAITING.has(name)) times.set(name, (times.get(name) ?? 0) + (timeDeltas[i] ?? 0))
  }
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  const name = functionName || '(anonymous)'
  if (!url) return name
  return `${name} ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`
}
