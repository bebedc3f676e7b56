import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

const BLOCK = 512

export type Packed = { name: string; content: Buffer; executable?: boolean }

/**
 * A .tar.gz of files, sorted by name. The same files give the same bytes: no owner, no time but the one given, and of the
 * mode only whether a file can be executed.
 */
export function tarGz(files: readonly Packed[], epoch: number): Buffer {
  const sorted = files.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const blocks = sorted.flatMap(({ name, content, executable }) => [
    header(name, content.length, executable ? 0o755 : 0o644, epoch),
    content,
    Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK),
  ])
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]), { level: 9 })
}

/** The files in a folder, or the file itself, by their names below `top`. */
export function filesIn(root: string, path: string, top: string): Packed[] {
  const file = join(root, path)
  const about = lstatSync(file)
  if (about.isDirectory()) return readdirSync(file).flatMap((name) => filesIn(root, join(path, name), `${top}/${name}`))
  return [{ name: top, content: readFileSync(file), executable: (about.mode & 0o100) !== 0 }]
}

function header(path: string, size: number, mode: number, epoch: number): Buffer {
  const [prefix, name] = split(path)
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  block.write(name, 0)
  block.write(octal(mode, 8), 100)
  block.write(octal(0, 8), 108)
  block.write(octal(0, 8), 116)
  block.write(octal(size, 12), 124)
  block.write(octal(epoch, 12), 136)
  block.write('        0', 148)
  block.write('ustar\x0000', 257)
  block.write(prefix, 345)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** A name has at most 100 bytes, and the folders before it 155. */
function split(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= 100) return ['', path]
  const slash = path.indexOf('/', path.length - 101)
  const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)]
  if (slash < 0 || Buffer.byteLength(prefix) > 155 || Buffer.byteLength(name) > 100) {
    throw new Error(`the name is too long for a tar file: ${path}`)
  }
  return [prefix, name]
}
