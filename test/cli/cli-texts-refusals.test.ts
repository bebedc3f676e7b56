import { after, before, describe, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { startClock, stopClock, transcriptOf } from '../support/clients/transcript.ts'
import { startLocalServer } from '../support/outside/local-server.ts'
import { approve } from '../support/running/approved.ts'
import { type Service, startService } from '../support/service/service.ts'

describe('output of commands that fail', () => {
  let service: Service
  let shell: Shell
  let viewer: string
  before(async () => {
    stopClock()
    service = await startService('sqlite')
    shell = newShell()
    const made = await service.call('POST', '/v1/keys', { body: { name: 'reader', role: 'viewer' } })
    viewer = made.body.data.secret
  })
  after(async () => {
    await service.stop()
    shell.remove()
    startClock()
  })

  test('refusals, logins and the service', async (t) => {
    const { run, both, about, text } = transcriptOf(() => shell)
    const at = { MOORAGE_URL: service.url }
    const asAdmin = { env: { ...at, MOORAGE_API_KEY: service.admin } }
    const asViewer = { env: { ...at, MOORAGE_API_KEY: viewer } }
    about('words that no command has')
    await both('agnets')
    await both('agents')
    await both('agents lst')
    await both('agents list --jsn')
    await run('agents list one two')
    await both('agents get')
    await run('agents list --limit')
    await run('agents list --limit -1')
    await run('keys list --limit 1.5')
    await run('--vers')
    about('no key, a wrong key, a key that may not')
    await both('agents list')
    await run('agents list', { env: at })
    await run('agents list --url https://elsewhere.example.com', asAdmin)
    await both('agents list', { env: { ...at, MOORAGE_API_KEY: 'mrg_wrong' } })
    await both('agents create new', asViewer)
    await run('keys list', asViewer)
    await run('agents list --project shop', asViewer)
    await run('agents list --project shop', asAdmin)
    await run('agents list --profile office', asAdmin)
    await run('keys list')
    await run('keys list --local')
    about('a service that is not there, and one that is another')
    const gone = await startLocalServer(() => {})
    await gone.close()
    await both('agents list', { env: { MOORAGE_URL: gone.url, MOORAGE_API_KEY: viewer } })
    await run('agents list', { env: { MOORAGE_URL: 'harbour', MOORAGE_API_KEY: viewer } })
    const other = await startLocalServer((_request, response) => response.end('<html>Hello</html>'))
    await both('agents list', { env: { MOORAGE_URL: other.url, MOORAGE_API_KEY: viewer } })
    await other.close()

    about('logins')
    await run('profile')
    await run('logout')
    await run('login harbour', { stdin: viewer })
    await run(`login ${service.url}`)
    await run(`login ${service.url}`, { stdin: 'mrg_wrong' })
    await run(`login ${service.url} --profile reader`, { stdin: `${viewer}\n` })
    await run(`login ${service.url} --json`, { stdin: service.admin })
    await run(`login ${service.url} --sso`)
    await both('profile list')
    await run('whoami --profile reader')
    await run('whoami', { env: { MOORAGE_PROFILE: 'raeder' } })
    await run('profile use raeder')
    await run('profile use nothing')
    await run('profile use reader')
    await run('agents create new')
    await run('logout --profile default --json')
    await run('logout')
    await run('profile ls')

    about('any request')
    await run('api GET /v1/agents?limit=1', asAdmin)
    await run('api get v1/agents', asAdmin)
    await run('api POST /v1/agents -d "{"', asAdmin)
    await run('api POST /v1/agents -d -', { ...asAdmin, stdin: '{"name":"new"}' })
    await run('api GET /v1/nothing', asAdmin)
    await run('api GET /v1/agents -H nothing', asAdmin)
    await run('telemetry build', asAdmin)
    await run('telemetry nothing', asAdmin)
    await run('completion tcsh')
    await run('completion bash')

    about('the store itself')
    const onHost = { env: { MOORAGE_DATA: service.data } }
    await run('keys ls --local', onHost)
    await run('memory rebuild', onHost)
    await run('backup copy', onHost)
    await run('backup copy', onHost)
    await run('restore copy', onHost)
    await run('restore nowhere --yes', onHost)
    await run('backup pg', { env: { DATABASE_URL: 'postgres://127.0.0.1/none' } })
    const more = [
      [/mrg_\w+…\w+/g, 'hint'],
      [/(?<=<hint> {2})\S+$/gm, 'when'],
      [new RegExp(service.data, 'g'), 'data'],
      [/\d+(?= KiB)/g, 'n'],
    ] as const
    approve(t, 'cli/refusals.txt', text(more))
  })

  test('tables and records in a terminal, with its width and colors', async (t) => {
    const { run, text } = transcriptOf(() => shell)
    const env = { MOORAGE_URL: service.url, MOORAGE_API_KEY: service.admin }
    const description = 'A description that is longer than what a line of a narrow terminal has room for'
    await run(`agents create wide --description "${description}"`, { env })
    for (const columns of [60, 100]) {
      await run('agents invocable', { env, isTTY: true, columns })
      await run('agents get wide', { env: { ...env, NO_COLOR: '1' }, isTTY: true, columns })
      await run('agents get wid', { env, isTTY: true, columns })
      await run('agents delete wide', { env, isTTY: true, columns })
      await run('invoke wide Ahoy', { env, isTTY: true, columns })
      await run('agents --help', { isTTY: true, columns })
    }
    await run('agents ls', { env: { ...env, FORCE_COLOR: '1' } })
    approve(t, 'cli/terminal.txt', text([[/(?<=m)req_\w+/g, 'request']]).replaceAll('\u001b', '␛'))
  })
})
