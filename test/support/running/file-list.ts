// The list of files that the processes of one run share: who has taken which, and what came to its end.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type FileList = {
  /** The files one after the other, each in one process only. What the process does with it is done at the next step. */
  take(): Generator<string>
  /** Where is written why a process ended early: the runner shows what a process said far above its summary. */
  notes: string
  note(line: string): void
  /** Why processes ended early, and what was not run to its end because of that: a line for each. */
  cutShort(): string[]
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
        yield file
        mark(done(index))
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
