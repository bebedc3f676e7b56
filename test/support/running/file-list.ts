// The list of files that the processes of one run share: who has taken which, and what came to its end.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** How long a file took, and how much processor time its process used meanwhile, without the processes it started. */
export type FileTime = { file: string; ms: number; cpuMs: number }

export type FileList = {
  /** The files one after the other, each in one process only. What the process does with it is done at the next step. */
  take(): Generator<string>
  /** Where is written why a process ended early: the runner shows what a process said far above its summary. */
  notes: string
  note(line: string): void
  /** Why processes ended early, and what was not run to its end because of that: a line for each. */
  cutShort(): string[]
  /** What the files took that came to their end. */
  times(): FileTime[]
}

export function writeFileList(folder: string, files: string[]): FileList {
  writeFileSync(join(folder, 'files.json'), JSON.stringify(files))
  return openFileList(folder)
}

export function openFileList(folder: string): FileList {
  const files = JSON.parse(readFileSync(join(folder, 'files.json'), 'utf8')) as string[]
  const notes = join(folder, 'notes.txt')
  const taken = (index: number) => join(folder, `${index}-taken`)
  const done = (index: number) => join(folder, `${index}-done`)
  return {
    *take() {
      for (const [index, file] of files.entries()) {
        if (!mark(taken(index))) continue
        const [began, cpu] = [performance.now(), process.cpuUsage()]
        yield file
        const { user, system } = process.cpuUsage(cpu)
        const time: FileTime = { file, ms: performance.now() - began, cpuMs: (user + system) / 1000 }
        writeFileSync(done(index), JSON.stringify(time))
      }
    },
    notes,
    note: (line) => appendFileSync(notes, `${line}\n`),
    cutShort() {
      const lines = existsSync(notes) ? readFileSync(notes, 'utf8').trim().split('\n') : []
      for (const [index, file] of files.entries()) {
        if (!existsSync(taken(index))) lines.push(`${file} was not begun`)
        else if (!existsSync(done(index))) lines.push(`${file} did not come to its end`)
      }
      return lines
    },
    times: () =>
      files.flatMap((_, index) => (existsSync(done(index)) ? [JSON.parse(readFileSync(done(index), 'utf8'))] : [])),
  }
}

/** Whether no process has made the mark before. */
function mark(path: string): boolean {
  try {
    mkdirSync(path)
    return true
  } catch {
    return false
  }
}
