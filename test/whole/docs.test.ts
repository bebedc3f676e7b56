import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { newShell } from '../support/clients/cli.ts'
import { type Authenticator, authenticator, enrol } from '../support/clients/mfa.ts'
import { PersonTab } from '../support/console/person-tab.ts'
import { type Block, codeBlocks, commandsOf, openBash, ROOT, readDoc } from '../support/house/docs.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { type OidcIssuer, startOidcIssuer } from '../support/outside/oidc-issuer.ts'
import { until } from '../support/running/until.ts'
import { built } from '../support/service/built.ts'
import { childEnv, startChild } from '../support/service/child.ts'
import { type Service, startService } from '../support/service/service.ts'
import { unusedPort } from '../support/stores/daemon.ts'

const STEP_MS = 30_000

/** Variables that the documents use for ids of earlier replies, by what such ids start with. */
const VARIABLES: Record<string, string> = {
  PERSON_ID: 'prs',
  INVITATION_ID: 'inv',
  DEPLOYMENT_ID: 'dep',
  MEMORY_ID: 'mem',
  REQUEST_ID: 'req',
  FILE_ID: 'file',
  WEBHOOK_ID: 'whk',
  DELIVERY_ID: 'dlv',
  KEY_ID: 'key',
  LISTENER_ID: 'lsn',
  SESSION_ID: 'cns',
  SCHEDULE_ID: 'sch',
  TRIGGER_ID: 'trg',
  TRIGGER_DELIVERY_ID: 'inc',
  REPLAY_ID: 'rpl',
  LINK_ID: 'lnk',
}

type Reader = {
  /** Where the reader stands: documents change folders. */
  folder(): Promise<string>
  perform(block: Block, doc: string): Promise<void>
  close(): void
}

// Where the service is and the key to it are set already, and `moorage` is there.
const PREPARED = /^(export (MOORAGE_)?URL=|alias moorage=|git clone |cd moorage$|(\w+=\S+ )*npm (start|run example )\b)/
/** A command of ours and nothing else: no pipe, no redirection, nothing in the background. */
const PLAIN = /^moorage [^|<>;&()`]+$/
/** Tells, in front of a command, what bash makes of its words, and where and in which environment it would run. */
const TELL_WORDS = `words() {
  for name in $(compgen -e); do printf '%s=%s\\037' "$name" "\${!name}"; done
  printf '\\036%s' "$PWD"
  printf '\\037%s' "$@"
}`
/** Where the documents have the tool of the quick start. */
const TIDE = 'http://127.0.0.1:8700'
/** For these, a person would have to sign in with a provider, and a replay to take long. Their own tests ask for them. */
const OF_OTHERS = /\/connections\/\w+\/(links|grants|test)|\/connected-applications\/|\/replays\/\S+\/cancel/
const RECEIVERS = /https:\/\/(hooks\.)?example\.com\/\w+/g

/** Performs the shell samples of a document against a service, as a reader would, one after the other. */
async function openReader(service: Service, receiver: LocalServer, COOKIE: string): Promise<Reader> {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-docs-'))
  const { url, admin: key, data } = service
  const bash = openBash(folder, {
    HOME: folder,
    URL: url,
    KEY: key,
    MOORAGE_URL: url,
    MOORAGE_API_KEY: key,
    MOORAGE_DATA: data,
    COOKIE,
    CRM_TOKEN: 'a-token-of-the-reader',
    DESK_TOKEN: 'another',
  })
  await bash.run(`moorage() { '${process.execPath}' '${built('cli')}' "$@"; }`)
  await bash.run(TELL_WORDS)
  await bash.run('ln -s "$MOORAGE_DATA" data')
  const shell = newShell()
  const ownId = (await service.call('GET', '/v1/keys/self')).body.data.id
  let owner: Authenticator | undefined
  let pending = ''

  /** What the reader's authenticator shows. A code counts once, so time continues between two of them. */
  const giveCodes = async (command: string) => {
    if (command.includes('$OTP')) {
      owner ??= await enrol(service, ownId)
      service.advance(STEP_MS)
      await bash.run(`OTP=${owner.code()}`)
    }
    if (command.includes('$CODE')) await bash.run(`CODE=${authenticator(service, pending).code()}`)
  }

  /** A process of its own would take longer than the command. */
  const runHere = async (command: string) => {
    const [variables = '', words = ''] = (await bash.run(`words ${command}`)).output.split('\u001E')
    const [cwd = '', , ...args] = words.split('\u001F')
    const pairs = variables.split('\u001F').slice(0, -1)
    const env = Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)))
    const { code, stdout, stderr } = await shell.moorage(args, { cwd, env })
    return { code, output: stdout + stderr }
  }

  const rememberIds = async (output: string) => {
    for (const [name, prefix] of Object.entries(VARIABLES)) {
      const id = new RegExp(`"(?:id|request_id|session_id)": ?"(${prefix}_\\w+)"`).exec(output)?.[1]
      if (id) await bash.run(`${name}=${id}`)
    }
    pending = /"status":"pending","secret":"(\w+)"/.exec(output)?.[1] ?? pending
    const [, replaced] = /"secret": ?"(mrg_\w+)"/.exec(output) ?? []
    // Who rotates the own key uses the new secret from then on.
    if (replaced && output.includes(`"id":"${ownId}"`)) await bash.run(`KEY=${replaced}; MOORAGE_API_KEY=${replaced}`)
  }

  return {
    folder: async () => (await bash.run('pwd')).output,
    async perform({ code: commands, line }, doc) {
      for (const command of commandsOf(commands)) {
        // Only a remote agent that is being called has a token for steps: test/remote asks for them.
        if (PREPARED.test(command) || command.includes('$STEPS_TOKEN')) continue
        if (OF_OTHERS.test(command)) continue
        await giveCodes(command)
        const actual = command.replaceAll(RECEIVERS, `${receiver.url}/hook`).replaceAll('http://127.0.0.1:8787', url)
        const { code, output } = PLAIN.test(actual) ? await runHere(actual) : await bash.run(actual)
        assert.equal(code, 0, `${doc}:${line}\n$ ${command}\n${output}`)
        await rememberIds(output)
      }
    },
    close() {
      bash.close()
      shell.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const DOCS = [
  'docs/api.md',
  'docs/cli.md',
  'docs/deploy.md',
  'docs/monitor.md',
  'docs/backup.md',
  'docs/upgrade.md',
  'docs/pause.md',
  'docs/troubleshoot.md',
  'docs/quick-start.md',
  'docs/gallery.md',
  'docs/models.md',
  'docs/tools.md',
  'docs/invocations.md',
  'docs/sessions.md',
  'docs/runs.md',
  'docs/approvals.md',
  'docs/team.md',
  'docs/projects.md',
  'docs/feedback.md',
  'docs/gradual-deployments.md',
  'docs/triggers.md',
  'docs/agent-tools.md',
  'docs/conversations.md',
  'docs/email.md',
  'docs/replays.md',
  'docs/share.md',
  'docs/logs-and-metrics.md',
  'docs/memory.md',
  'docs/memory-search.md',
  'docs/privacy.md',
  'docs/schedules.md',
  'docs/files.md',
  'docs/structured-answers.md',
  'docs/webhooks.md',
  'docs/mcp.md',
  'docs/openai.md',
  'docs/a2a.md',
  'docs/a2a-agents.md',
  'docs/ag-ui.md',
  'README.md',
]

/** The receivers of the samples are on this machine. */
const LOCAL_CALLS = { MOORAGE_OUTGOING__ALLOW_INSECURE: 'true', MOORAGE_OUTGOING__ALLOWED_CIDRS: '127.0.0.1/32' }

/** Those with which the document itself starts the service, if it says any. */
function settingsOf(doc: string): Record<string, string> {
  const [start] = /^(MOORAGE_\w+=\S+ )+npm start$/m.exec(readDoc(doc)) ?? []
  if (start === undefined) return LOCAL_CALLS
  return Object.fromEntries([...start.matchAll(/(MOORAGE_\w+)=(\S+) /g)].map(([, name, value]) => [name, value]))
}

type Tide = { url: string; close(): void }

/** The tool of the quick start, as its example has it. */
async function startTide(): Promise<Tide> {
  const child = startChild(process.execPath, [fileURLToPath(new URL('examples/tide/tide.ts', ROOT))], {
    env: { ...childEnv(), PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [told] = await once(child.stdout, 'data')
  const url = /http:\/\/127\.0\.0\.1:\d+/.exec(String(told))?.[0] ?? assert.fail(String(told))
  return { url, close: () => child.kill() }
}

/** Lets everybody in who has an account there. */
function signingIn(issuer: OidcIssuer): Record<string, string> {
  const roles = [{ group: 'all', project: '*', role: 'admin' }]
  return { MOORAGE_CONSOLE__OIDC: JSON.stringify([issuer.entry({ roles })]) }
}

async function cookieOf(service: Service, issuer: OidcIssuer): Promise<string> {
  issuer.serve(service.url)
  issuer.accounts.set('reader', { name: 'Reader', email: 'reader@example.com', email_verified: true, groups: ['all'] })
  const tab = new PersonTab(() => service)
  assert.equal(await tab.signInAs(issuer, 'reader'), '/')
  return tab.cookie
}

for (const doc of DOCS) {
  describe(`the samples of ${doc}`, () => {
    let service: Service
    let receiver: LocalServer
    let tide: Tide | undefined
    let issuer: OidcIssuer | undefined
    let reader: Reader
    before(async () => {
      receiver = await startLocalServer((_request, response) => response.end())
      tide = readDoc(doc).includes(TIDE) ? await startTide() : undefined
      // Some samples are for a person who is signed in.
      const hasPerson = readDoc(doc).includes('$COOKIE')
      issuer = hasPerson ? await startOidcIssuer() : undefined
      service = await startService('sqlite', { ...settingsOf(doc), ...(issuer && signingIn(issuer)) })
      reader = await openReader(service, receiver, issuer ? await cookieOf(service, issuer) : '')
    })
    after(async () => {
      reader.close()
      await service.stop()
      await receiver.close()
      await issuer?.close()
      tide?.close()
    })

    test('work, one after the other', async () => {
      const blocks = codeBlocks(readDoc(doc))
      assert.ok(blocks.some(({ language }) => language === 'sh'))
      for (const block of blocks) {
        if (block.language === 'sh') await reader.perform(block, doc)
        if (block.language === 'yaml' && block.code.startsWith('name:')) {
          writeFileSync(join(await reader.folder(), 'agent.yaml'), block.code.replaceAll(TIDE, tide?.url ?? TIDE))
        }
      }
      if (doc !== 'docs/quick-start.md') return
      const { body } = await service.call('GET', '/v1/agents/harbour/invocations')
      const responses = body.data.map(({ response }: { response: string }) => response)
      const promised = /`(The tide at Dover: .*)`/.exec(readDoc(doc))?.[1]?.replaceAll(/[\d.]+|true/g, '') ?? 'nothing'
      assert.ok(
        responses.some((text: string) => text.replaceAll(/[\d.]+|true|false/g, '') === promised),
        responses.join('\n'),
      )
    })
  })
}

describe('the first commands of README.md', () => {
  test('start a service that prints a key, and a curl that works as pasted', async (t) => {
    const [start] = codeBlocks(readDoc('README.md'))
    assert.deepEqual(commandsOf(start?.code ?? ''), ['git clone <this repository> moorage', 'cd moorage', 'npm start'])
    const folder = mkdtempSync(join(tmpdir(), 'moorage-readme-'))
    const env = {
      ...childEnv(),
      HOME: folder,
      PORT: String(await unusedPort()),
      MOORAGE_DATA: join(folder, 'data'),
      LOG_LEVEL: 'error',
    }
    // A group of its own: npm is not the service, only the one who started it.
    const child = startChild('npm', ['start'], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(async () => {
      const exited = once(child, 'exit')
      process.kill(-(child.pid ?? 0), 'SIGTERM')
      await exited
      rmSync(folder, { recursive: true, force: true })
    })
    let printed = ''
    child.stdout.on('data', (chunk) => {
      printed += chunk
    })
    // npm itself takes a second or two.
    await until('it says what to try', () => /Try it:\s+(curl[\s\S]*?)\n\n/.test(printed), 30_000)
    assert.match(printed, /Key +mrg_\w{49} +\(admin; shown only once/)
    const bash = openBash(folder, env)
    t.after(() => bash.close())
    const { code, output } = await bash.run(
      (/Try it:\s+(curl[\s\S]*)/.exec(printed)?.[1] ?? '').replaceAll('\\\n', ' '),
    )
    assert.equal(code, 0, output)
    assert.equal(JSON.parse(output).data.response, 'Ahoy!')
  })
})
