import { randomUUID } from 'node:crypto'
import { constants, createWriteStream, existsSync } from 'node:fs'
import { copyFile, link, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { type Command, Option } from 'commander'
import type { Attachable } from '../../../../sdk/client.ts'
import { fromPath } from '../../../../sdk/from-path.ts'
import { seconds, takesService } from '../../command.ts'
import { type Common, withClient } from '../../connect/connect.ts'
import { EXIT, Failure } from '../../failure.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { serviceCommands } from '../../from-operations/operation-command.ts'
import { print, printJson, success } from '../../terminal/output.ts'
import type { World } from '../../world.ts'

const SPECS: CommandSpecs = {
  createFile: false,
  listFiles: {
    about: 'List files, most recent first',
    options: {
      user_id: 'only of this user',
      media_type: { flags: '--type <type>', about: 'only of this type, such as image/png' },
    },
    columns: {
      of: [
        'id',
        'name',
        ['TYPE', ({ media_type }) => media_type],
        ['BYTES', ({ size }) => size],
        'user_id',
        'created_at',
        'expires_at',
      ],
    },
  },
  getFile: { name: 'show', about: "Show a file's name, type, size and user" },
  getFileContent: false,
  deleteFile: {},
}

type PutOptions = Common & { name?: string; type?: string; user?: string; expiresIn?: number }

export function files(command: Command, world: World): void {
  takesService(command.command('put'))
    .description('Upload a file. Prints only its ID to stdout')
    .argument('<path>', 'the file; - reads stdin')
    .option('--name <name>', 'store it under another name')
    .option('--type <type>', 'media type, such as image/png; detected from its content if not given')
    .option('--user <id>', 'the user that the file belongs to')
    .option('--expires-in <duration>', 'when the file is deleted, such as 7d', seconds)
    .action(async (path: string, options: PutOptions) => {
      const { type, user: user_id, expiresIn: expires_in_seconds } = options
      const content =
        path === '-' ? (Readable.toWeb(world.stdin) as globalThis.ReadableStream) : await openPath(world, path)
      const query = { name: options.name, user_id, expires_in_seconds }
      const file = await withClient(world, options, (client) =>
        client.files.create(content, query, { type, ...options }),
      )
      if (options.json) return printJson(world, file)
      success(world, `Uploaded ${file.name} (${file.media_type}, ${file.size} bytes)`)
      print(world, file.id)
    })

  takesService(command.command('get'))
    .description('Download a file to stdout, or into a file')
    .argument('<file_id>')
    .option('-o, --output <path>', 'write it to this new file')
    .action(async (id: string, options: Common & { output?: string }) => {
      const { output } = options
      if (output !== undefined && existsSync(resolve(world.cwd, output))) throw exists(output)
      const response = await withClient(world, options, (client) => client.files.content(id, options))
      const bytes = Readable.fromWeb(response.body as ReadableStream)
      if (output === undefined) return pipeline(bytes, world.stdout, { end: false })
      await saveNew(bytes, resolve(world.cwd, output)).catch((error) => {
        throw error.code === 'EEXIST' ? exists(output) : error
      })
      success(world, `Downloaded ${id} to ${output}`)
    })

  serviceCommands('files', SPECS)(command, world)
}

function exists(path: string): Failure {
  return new Failure(EXIT.failed, `${path} already exists.`)
}

/**
 * Saves a download. The bytes are written to a temporary file until all have arrived, so an interrupted download leaves
 * nothing at `path`. A link doesn't replace a file that was created there in the meantime. If the file system doesn't
 * support links, the file is copied.
 */
async function saveNew(bytes: Readable, path: string): Promise<void> {
  const part = join(dirname(path), `.${randomUUID()}.part`)
  try {
    await pipeline(bytes, createWriteStream(part, { flags: 'wx' }))
    await link(part, path).catch((error) => {
      if (error.code === 'EEXIST') throw error
      return copyFile(part, path, constants.COPYFILE_EXCL)
    })
  } finally {
    await rm(part, { force: true })
  }
}

export function attachOption(): Option {
  return new Option('--attach <files...>', 'files for the model, by path, ID or URL: images, PDFs, texts')
}

/** The attachments for a message. */
export function attachables(world: World, names: readonly string[] = []): Promise<Attachable[]> {
  return Promise.all(names.map((name) => attachable(world, name)))
}

/** An attachment by its path, ID or URL. A path that looks like an ID or a URL can be written with `./` before it. */
export async function attachable(world: World, name: string): Promise<Attachable> {
  if (/^file_[0-9A-Z]{26}$/.test(name)) return { file_id: name }
  if (/^https?:\/\//i.test(name)) return { url: name }
  return openPath(world, name)
}

async function openPath(world: World, path: string): Promise<File> {
  try {
    return await fromPath(resolve(world.cwd, path))
  } catch {
    throw new Failure(EXIT.notFound, `${path} can't be read.`)
  }
}
