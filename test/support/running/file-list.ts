// The list of files that the processes of one run share: which process has taken which file, and which files were
// completed.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** How long a file took, and how much processor time its process used, without the processes that it started. */
export type FileTime = { file: string; ms: number; cpuMs: number }

export type FileList = {
  /**
   * Yields the files one after the other, each in one process only. The process must have finished a file before the
   * next.
   */
  take(): Generator<string>
  /**
   * The file with the reasons why processes ended early, because the runner shows a process's output far above its
   * summary.
   */
  notes: string
  note(line: string): void
  /** Why processes ended early, and what didn't run completely because of that, one line each. */
  cutShort(): string[]
  /** The times of the files that were completed. */
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
