import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, link, open, readdir, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Command } from 'commander'
import { counted } from '../../../lib/text/counted.ts'
import { isRecipient } from '../../../security/sealed-box.ts'
import { syncFolder } from '../../../storage/sync-folder.ts'
import type { NamedList } from '../../../transfer/left-out.ts'
import type { TableDigest } from '../../../transfer/transfer-file.ts'
import { PARTS, type TransferPart } from '../../../transfer/transfer-parts.ts'
import { configOption, dataOption, list } from '../../command.ts'
import { EXIT, Failure, usage } from '../../failure.ts'
import { type Column, note, print, printJson, printRows, success, warn } from '../../terminal/output.ts'
import { counting } from '../../terminal/progress.ts'
import type { World } from '../../world.ts'

type ExportOptions = {
  project: string
  to?: string
  with?: string[]
  sealTo?: string
  allowMissing?: boolean
  config?: string
  data?: string
  json?: boolean
}

const DIGESTS: Column<TableDigest>[] = ['table', 'rows', ['SHA-256', ({ sha256 }) => sha256.slice(0, 16)]]

export function printDigests(world: World, tables: readonly TableDigest[]): void {
  printRows(
    world,
    tables.filter(({ rows }) => rows > 0),
    DIGESTS,
  )
}

export { exportProject as export }

function exportProject(command: Command, world: World): void {
  command
    .requiredOption('--project <project>', 'the project, by name or ID')
    .option('--to <file>', 'a new file. Without it, only shows what the export would contain')
    .option('--with <parts...>', `also export: ${PARTS.join(', ')}, or all`, list)
    .option(
      '--seal-to <recipient>',
      'include secrets, encrypted for the service that printed this recipient (`moorage import --recipient`)',
    )
    .option('--allow-missing', 'export the rest even if files are missing or altered')
    .addOption(configOption())
    .addOption(dataOption())
    .option('--json', 'print JSON')
    .action(async (options: ExportOptions) => {
      const parts = partsOf(options.with ?? [])
      const { sealTo: recipient } = options
      if (recipient !== undefined && !isRecipient(recipient)) {
        throw usage(
          '--seal-to is not a recipient. Print it with `moorage import --recipient` where you will import the file.',
        )
      }
      const path = options.to === undefined ? undefined : resolve(world.cwd, options.to)
      if (path !== undefined && existsSync(path)) {
        throw alreadyExists(path)
      }
      const { openLocalStore } = await import('../../connect/local-store.ts')
      const { exportProject: write } = await import('../../../transfer/export-project.ts')
      const store = await openLocalStore(world, options)
      const file = path === undefined ? undefined : await DraftFile.open(path)
      const progress = counting(world)
      try {
        const wishes = { project: options.project, with: parts, recipient, allowMissing: options.allowMissing }
        const put = (text: string) => file?.write(text) ?? DONE
        const report = await write(store.parts, wishes, put, (table, rows) => {
          world.signal.throwIfAborted()
          progress.tell(`Exporting ${table}: ${rows}`)
        })
        await file?.keep()
        progress.end()
        const { project, tables, left_out, heirs } = report
        if (path === undefined) note(world, `${project.name} would be exported like this:`)
        else success(world, `Exported ${project.name} to ${path} (${Math.ceil((file?.size ?? 0) / 1024)} KiB)`)
        for (const left of left_out)
          warn(world, `Left out: ${left.what} (${left.count}): ${namesOf(left)}. ${left.hint}`)
        if (heirs.count > 0) {
          const who = "will run with the importing operator's rights, because the key that last changed them stays here"
          note(world, `  ${counted(heirs.count, 'schedule')} ${who}: ${namesOf(heirs)}`)
        }
        if (!project.paused && path !== undefined) {
          note(world, '  The project is not paused: what it does from now on is not in the file')
        }
        if (options.json) printJson(world, { ...report, file: path ?? null })
        else {
          printDigests(world, tables)
          if (path !== undefined) print(world, path)
        }
      } finally {
        progress.end()
        await file?.remove()
        await store.close()
      }
    })
}

const DONE = Promise.resolve()

export function namesOf({ count, names }: NamedList): string {
  return `${names.join(', ')}${count > names.length ? ' …' : ''}`
}

function partsOf(given: readonly string[]): TransferPart[] {
  if (given.includes('all')) return [...PARTS]
  const unknown = given.find((part) => !PARTS.includes(part as TransferPart))
  if (unknown !== undefined) throw usage(`--with can't be ${unknown}. Choose from ${PARTS.join(', ')}, or all.`)
  return PARTS.filter((part) => given.includes(part))
}

function alreadyExists(path: string): Failure {
  return new Failure(EXIT.failed, `${path} already exists`, '  Name a new file')
}

const WRITE_CHARACTERS = 2 ** 20
const DRAFT = '.partial'
const ABANDONED_MS = 3_600_000

/**
 * A file that gets its name only when it is complete. If the process dies, a draft with a different name remains. When
 * it is an hour old, the next export to the same file removes it.
 */
class DraftFile {
  readonly #path: string
  readonly #draft: string
  readonly #handle: FileHandle
  #waiting: string[] = []
  #characters = 0
  #isClosed = false
  size = 0

  private constructor(path: string, draft: string, handle: FileHandle) {
    this.#path = path
    this.#draft = draft
    this.#handle = handle
  }

  static async open(path: string): Promise<DraftFile> {
    const [folder, start] = [dirname(path), `.${basename(path)}.`]
    for (const name of await readdir(folder)) {
      if (!name.startsWith(start) || !name.endsWith(DRAFT)) continue
      const { mtimeMs } = await stat(join(folder, name))
      if (Date.now() - mtimeMs > ABANDONED_MS) await rm(join(folder, name), { force: true })
    }
    const draft = join(folder, `${start}${randomBytes(6).toString('hex')}${DRAFT}`)
    return new DraftFile(path, draft, await open(draft, 'wx', 0o600))
  }

  write(text: string): Promise<void> {
    this.#waiting.push(text)
    this.#characters += text.length
    return this.#characters < WRITE_CHARACTERS ? DONE : this.#flush()
  }

  async keep(): Promise<void> {
    await this.#flush()
    await this.#handle.sync()
    await this.#handle.close()
    this.#isClosed = true
    try {
      // A rename would replace a file that another process has created in the meantime.
      await link(this.#draft, this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw alreadyExists(this.#path)
      throw error
    }
    await rm(this.#draft)
    await syncFolder(dirname(this.#path))
  }

  async remove(): Promise<void> {
    if (!this.#isClosed) await this.#handle.close()
    this.#isClosed = true
    await rm(this.#draft, { force: true })
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.from(this.#waiting.join(''))
    this.#waiting = []
    this.#characters = 0
    this.size += bytes.length
    await this.#handle.appendFile(bytes)
  }
}
