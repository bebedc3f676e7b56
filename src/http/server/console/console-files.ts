import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import type { ServedPage } from '../replies/send-page.ts'

/** Only our own scripts run, nothing is loaded from elsewhere, and no other page may show the console in a frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  // Our script loads images, detects their type and shows them from these URLs.
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': CONTENT_SECURITY_POLICY,
  'Referrer-Policy': 'no-referrer',
  'X-Frame-Options': 'DENY',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

const TYPES: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
}
const ASSET = /^[\w-]+(?:\.[\w-]+)*\.(js|css|svg|png|woff2)$/
const PACKED = new Set(['js', 'css', 'svg'])

/**
 * The first visitor waits for the compression. Quality 7 takes a thirtieth of the processor time of the default, 11, and
 * makes the files 8 % larger.
 */
const BROTLI_OPTIONS = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 7 } }

const brotli = promisify(zlib.brotliCompress)
const gzip = promisify(zlib.gzip)

/** Where the build puts the console: next to the built service. */
export const CONSOLE_FOLDER = fileURLToPath(
  new URL(import.meta.filename.endsWith('.ts') ? '../../../../dist/console/' : '../console/', import.meta.url),
)

type Packings = { plain: Buffer; br?: Buffer; gzip?: Buffer }

/** The files of the built console, and of the pages beside it. */
export class ConsoleFiles {
  readonly #folder: string
  /** An asset's name changes with its content, so each asset is read and compressed only once. */
  readonly #assets = new Map<string, Promise<Packings | undefined>>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * The console's page, which is the same for every path. Its links are relative to the depth of the path, so they work
   * behind any prefix that a proxy removes. Undefined if the console isn't built.
   */
  async page(path: string): Promise<ServedPage | undefined> {
    const html = await readIfThere(join(this.#folder, 'index.html'))
    if (!html) return undefined
    const up = '../'.repeat(path.split('/').length - 2) || './'
    const body = html.toString('utf8').replaceAll(/(\s(?:src|href)=")\.\//g, `$1${up}`)
    return { status: 200, headers: PAGE_HEADERS, body: Buffer.from(body) }
  }

  /** The text of a page that gets its content when it is served. Undefined if the pages aren't built. */
  async template(name: string): Promise<string | undefined> {
    return (await readIfThere(join(this.#folder, name)))?.toString('utf8')
  }

  /** The script that other sites load. Its name stays, so browsers look for a new one after an hour. */
  async widget(accepted: string): Promise<ServedPage | undefined> {
    const found = await this.#served('widget.js', 'widget.js', accepted)
    const shared = { 'Cache-Control': 'public, max-age=3600', 'Cross-Origin-Resource-Policy': 'cross-origin' }
    return found && { ...found, headers: { ...found.headers, ...shared } }
  }

  async asset(name: string, accepted: string): Promise<ServedPage | undefined> {
    return this.#served(name, join('assets', name), accepted)
  }

  async #served(name: string, path: string, accepted: string): Promise<ServedPage | undefined> {
    const type = ASSET.exec(name)?.[1]
    if (type === undefined) return undefined
    const packings = await this.#load(path, PACKED.has(type))
    if (!packings) return undefined
    const packing = (['br', 'gzip'] as const).find((one) => packings[one] && acceptsCoding(accepted, one))
    const headers = {
      'Content-Type': TYPES[type] as string,
      'Cache-Control': 'public, max-age=31536000, immutable',
      'Cross-Origin-Resource-Policy': 'same-origin',
      Vary: 'Accept-Encoding',
      ...(packing && { 'Content-Encoding': packing }),
    }
    return { status: 200, headers, body: packings[packing ?? 'plain'] as Buffer }
  }

  #load(name: string, isPacked: boolean): Promise<Packings | undefined> {
    const known = this.#assets.get(name)
    if (known) return known
    const loading = this.#read(name, isPacked)
    this.#assets.set(name, loading)
    const forget = () => this.#assets.delete(name)
    // A missing file might be built later, so it isn't cached.
    loading.then((found) => found ?? forget(), forget)
    return loading
  }

  async #read(name: string, isPacked: boolean): Promise<Packings | undefined> {
    const plain = await readIfThere(join(this.#folder, name))
    if (!plain || !isPacked) return plain && { plain }
    const [br, gz] = await Promise.all([brotli(plain, BROTLI_OPTIONS), gzip(plain, { level: 9 })])
    return { plain, br, gzip: gz }
  }
}

function acceptsCoding(accepted: string, coding: string): boolean {
  return new RegExp(`(?:^|,)\\s*${coding}\\s*(?:$|,|;\\s*q=(?!0(?:\\.0*)?\\s*(?:$|,)))`, 'i').test(accepted)
}

async function readIfThere(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
