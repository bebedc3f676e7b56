import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type App, startApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config.ts'
import { createLog } from '../../src/lib/log.ts'
import { newKey } from '../../src/security/key-format.ts'
import { codeAt, stepAt } from '../../src/security/one-time-code.ts'
import { AuthSettings, SecuritySettings } from '../../src/security/security-settings.ts'
import { type Block, type Command, openShell, readCommands, readSections } from '../support/house/doc-samples.ts'
import {
  type IdentityProviderServer,
  newSigningKey,
  signToken,
  startIdentityProvider,
} from '../support/outside/identity-provider.ts'
import { tlsFile } from '../support/outside/tls.ts'
import { built } from '../support/service/built.ts'
import { childEnv } from '../support/service/child.ts'

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const pages = ['security', 'network', 'tokens', 'mfa', 'audit-log'].map((page) =>
  readFileSync(at(`docs/${page}.md`), 'utf8'),
)
const sections = pages.flatMap(readSections)

/** A configuration and what is done under it. */
type Scene = { yaml: string; blocks: Block[] }

function scenesOf(blocks: Block[]): Scene[] {
  const scenes: Scene[] = []
  for (const block of blocks) {
    if (block.language === 'yaml') scenes.push({ yaml: block.text, blocks: [] })
    else if (scenes.length === 0) scenes.push({ yaml: '', blocks: [block] })
    else scenes.at(-1)?.blocks.push(block)
  }
  return scenes.filter(({ blocks: inside }) => inside.some(({ language }) => language === 'sh'))
}

const scripts = new Map(
  sections
    .flatMap(({ blocks }) => blocks)
    .flatMap(({ language, text }) => {
      const name = /^\/\/ (\S+\.mjs)\n/.exec(text)?.[1]
      return language === 'js' && name ? [[name, text] as const] : []
    }),
)

describe('the pages about security', () => {
  let idp: IdentityProviderServer
  let accessToken: string

  before(async () => {
    idp = await startIdentityProvider()
    const key = await newSigningKey('docs')
    idp.keys = [key.jwk]
    const exp = Math.floor(Date.now() / 1000) + 3600
    const claims = { iss: idp.issuer, aud: 'moorage', sub: 'ada', scope: 'read:agents write:agents', exp }
    accessToken = await signToken(claims, key)
  })
  after(() => idp.close())

  for (const { title, blocks } of sections) {
    for (const [index, scene] of scenesOf(blocks).entries()) {
      test(`${title}${index > 0 ? ` (${index + 1})` : ''}: its samples do what the page says`, async (t) => {
        const folder = mkdtempSync(join(tmpdir(), 'moorage-docs-'))
        t.after(() => rmSync(folder, { recursive: true }))
        cpSync(tlsFile(''), join(folder, 'tls'), { recursive: true })
        writeFileSync(join(folder, 'moorage.yaml'), scene.yaml.replaceAll('https://id.example.com', idp.issuer))
        for (const [name, text] of scripts) writeFileSync(join(folder, name), text)
        await performScene(scene, folder)
      })
    }
  }

  async function performScene(scene: Scene, folder: string): Promise<void> {
    const KEY = newKey(randomBytes)
    const clock = { offset: 0 }
    const env = { MOORAGE_DATA: join(folder, 'data'), MOORAGE_INIT_KEY: KEY, PORT: '0' }
    const { config } = loadConfig({ env, cwd: folder })
    const log = createLog({ level: 'silent', format: 'json' })
    const app = await startApp(config, { now: () => Date.now() + clock.offset, log })
    try {
      const prelude = [
        `node() { '${process.execPath}' "$@"; }`,
        `moorage() { env -u KEY '${process.execPath}' '${built('cli')}' "$@"; }`,
      ].join('\n')
      const shell = openShell(folder, prelude, {
        ...childEnv(),
        HOME: folder,
        URL: app.url,
        KEY,
        TOKEN: accessToken,
        MOORAGE_DATA: env.MOORAGE_DATA,
        ...(await keyIds(app)),
      })
      const factor = { secret: '' }
      for (const block of scene.blocks.filter(({ language }) => language === 'sh')) {
        for (const command of readCommands(block)) {
          const { stdout, reply } = await shell.run(command, variablesFor(command, factor.secret, clock))
          factor.secret = /[?&]secret=([A-Z2-7]+)/.exec(stdout)?.[1] ?? factor.secret
          if (command.text === 'moorage audit head') writeFileSync(join(folder, 'head.txt'), stdout)
          assertPromise(command, stdout, readFileSync(reply, 'utf8'))
        }
      }
    } finally {
      await app.stop()
    }
  }

  test('every request in a sample names the status that it gets', () => {
    const shell = sections.flatMap(({ blocks }) => blocks).filter(({ language }) => language === 'sh')
    const requests = shell.flatMap(readCommands).filter(({ text }) => /\bcurl\b/.test(text))
    assert.ok(requests.length >= 30, `${requests.length} requests`)
    const unnamed = requests.filter(({ expected }) => !expected).map(({ text }) => text)
    assert.deepEqual(unnamed, [])
  })

  test('every security setting is documented', () => {
    const names = [
      ...Object.keys(SecuritySettings.shape),
      ...AuthSettings.options.flatMap((option) => Object.keys(option.shape)),
      'caCert',
      'clientCert',
      'clientKey',
      'maxAge',
      'requests',
      'window',
      'requiredFor',
      'clientCaDir',
    ]
    assert.deepEqual(
      names.filter((name) => !new RegExp(`\\b${name}\\b`).test(pages.join())),
      [],
    )
  })
})

/** What an authenticator app would show; a code counts once, so every command gets a later one. */
function variablesFor({ text }: Command, secret: string, clock: { offset: number }): Record<string, string> {
  if (text.includes('$FIRST_CODE')) return { FIRST_CODE: codeAt({ secret, step: stepAt(Date.now()) }) }
  if (!text.includes('$CODE')) return {}
  clock.offset += 30_000
  return { CODE: codeAt({ secret, step: stepAt(Date.now() + clock.offset) }) }
}

function assertPromise({ text, expected }: Command, stdout: string, reply: string): void {
  if (!expected) return
  const message = `${text}\n${reply}`
  assert.equal(stdout, expected.status, message)
  assert.equal(JSON.parse(reply).error?.code, expected.code, message)
}

async function keyIds({ parts }: App): Promise<Record<string, string>> {
  const { db } = parts.storage
  const admin = await db.selectFrom('keys').selectAll().executeTakeFirstOrThrow()
  const other = { ...admin, id: parts.newId('key', parts.now()), name: 'other', hash: randomBytes(32).toString('hex') }
  await db.insertInto('keys').values(other).execute()
  return { KEY_ID: admin.id, OTHER_KEY_ID: other.id }
}
