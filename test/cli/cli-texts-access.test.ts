import { after, before, describe, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { authenticator } from '../support/clients/mfa.ts'
import { pass, startClock, stopClock, transcriptOf } from '../support/clients/transcript.ts'
import { ConsoleTab } from '../support/console/console-tab.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { approve } from '../support/running/approved.ts'
import { until } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'
import { makePerson } from '../support/slices/people.ts'

const HINT = [/mrg_\w+…\w+/g, 'hint'] as const
/** Keys' last uses are saved at varying times. */
const USED = [/(?<="last_used_at": )(null|"[^"]*")|(?<=mrg_\w+…\w+  )\S+$/gm, 'when'] as const

/** What a project stores is measured in the background. */
const STORED = [/(?<="stored_bytes": )(null|\d+)(?=,\n +"is_default)|(?<=^stored_bytes {2})\S+/gm, 'bytes'] as const

describe('output of the commands for access', () => {
  let model: ModelServer
  let service: Service
  let shell: Shell
  let ada: string
  before(async () => {
    stopClock()
    model = await startModelServer()
    const secrets = { SHOP_TOKEN: { value: 'hush', hosts: ['shop.example.com'] } }
    const issuer = { name: 'sample', issuer: 'https://sample.example.com', clientId: 'sample' }
    const settings = {
      ...LOCAL_TOOLS,
      ...localProvider(model.url),
      MOORAGE_SECRETS: JSON.stringify(secrets),
      MOORAGE_CONSOLE__OIDC: JSON.stringify([issuer]),
    }
    service = await startService('sqlite', settings)
    shell = newShell(service)
    ada = await makePerson(service, 'Ada Lovelace')
    pass(1_000)
    await makePerson(service, 'Ben Ainslie')
  })
  after(async () => {
    await service.stop()
    await model.close()
    shell.remove()
    startClock()
  })

  test('keys, factors and sessions', async (t) => {
    const { run, both, about, text } = transcriptOf(() => shell)
    about('keys')
    await run('keys create')
    await run('keys create backend')
    await run('keys create backend --role caller --agent hello --tier free --expires 30d')
    await run('keys create --name reports --permissions read,invoke --json')
    const admin = await run('keys create "second admin" --role admin --all-projects')
    await run('keys create odd --role captain')
    await run('keys create odd --role viewer --tier gold')
    await run('keys create odd --role viewer --expires 2020-01-01T00:00:00Z')
    await run('keys create odd --permissions read,swim')
    const list = JSON.parse((await both('keys list')).stdout) as { id: string; name: string }[]
    const idOf = (name: string) => list.find((key) => key.name === name)?.id ?? ''
    const backend = idOf('backend')
    await run('keys ls --agent hello')
    await run('keys ls --limit 1')
    await both(`keys get ${backend}`)
    await run(`keys rotate ${backend} --grace 1h`)
    await run(`keys rotate ${backend} --grace 0s --json`)
    await run(`keys revoke ${backend}`)
    await run(`keys revoke ${backend} --yes`)
    await run(`keys revoke ${idOf('reports')} -y --json`)
    await run('keys ls --status revoked')
    await run('keys get key_00000000000000000000000000')

    about('second factors')
    const second = idOf('second admin')
    const env = { MOORAGE_DATA: service.data }
    await both(`mfa status ${second}`)
    await run(`mfa enrol ${second}`)
    await run(`mfa confirm ${second} 123456`)
    const enrolled = await run(`mfa enrol ${second} --local`, { env })
    const secret = new URL(enrolled.stdout.trim()).searchParams.get('secret') ?? ''
    const app = authenticator(service, secret)
    await run(`mfa confirm ${second} ${app.wrong()} --local`, { env })
    pass(61_007)
    const code = app.code()
    pass(-61_007)
    await run(`mfa confirm ${second} ${code} --local`, { env })
    await run(`mfa status ${second}`)
    await run(`mfa remove ${second}`)
    await run(`mfa remove ${second} --yes --local`, { env })

    about('who it is')
    await both('whoami')
    await run('whoami', { env: { MOORAGE_API_KEY: admin.stdout.trim() } })
    await both('console sessions')
    await run('console sign-out con_00000000000000000000000000')
    await run('console sign-out con_00000000000000000000000000 --yes')
    await both('open')
    await run('open --docs')
    const more = [
      USED,
      HINT,
      [/otpauth:\/\/\S+(?=")|otpauth:\/\/\S+/g, 'address'],
      [/#link=[\w-]+/g, 'link'],
      [new RegExp(service.data, 'g'), 'data'],
      [new RegExp(`\\b(${code}|${app.wrong()})\\b`, 'g'), 'code'],
    ] as const
    approve(t, 'cli/keys.txt', text(more))
  })

  test('people, projects, secrets, providers and the audit log', async (t) => {
    const { run, both, about, text } = transcriptOf(() => shell)
    about('projects')
    await run(
      'projects create shop --description "Sells rope" --requests-per-minute 600 --concurrent-runs 5 --stored-bytes 9000000 --file-bytes 8000000 --retention-days 90',
    )
    await run('projects create trial --json')
    await run('projects create shop')
    await run('projects create "My Shop"')
    await run('projects create odd --concurrent-runs 0')
    await both('projects list')
    await both('projects get shop')
    await run('projects get shp')
    await run('projects update shop')
    await run('projects update trial --name sandbox --concurrent-runs 3 --description Try')
    await run('projects update sandbox --concurrent-runs none --json')
    await run('agents create clerk --project shop')
    await run('agents ls', { env: { MOORAGE_PROJECT: 'shop' } })
    await run('projects move clerk sandbox --project shop')
    await run('projects move clerk nowhere --project sandbox')
    await run('projects delete sandbox')
    await run('projects delete sandbox --confirm shop')
    await run('projects rm sandbox --confirm sandbox')
    await run('agents ls --project sandbox')
    await run('whoami --project shop')

    about('people')
    await both('people list')
    await run('people ls --project shop')
    await run('people ls --email ada@example.com')
    await both(`people get ${ada}`)
    await run('people get ada@example.com')
    await run(`people role ${ada} developer --project shop`)
    await run(`people role ${ada} captain`)
    await run(`people role ${ada} none --json`)
    await run(`people role ${ada} admin --all-projects`)
    await run(`people get ${ada}`)
    await run('people invite cay@example.com --role developer --hours 24 --project shop')
    await run('people invite dan@example.com --all-projects --json')
    await run('people invite nobody')
    await run('people invite cay@example.com --hours 0')
    const invitations = JSON.parse((await both('people invitations')).stdout) as { id: string }[]
    await run(`people invitation ${invitations[0]?.id}`)
    await run(`people uninvite ${invitations[0]?.id}`)
    await run(`people uninvite ${invitations[0]?.id}`)
    await run(`people remove ${ada}`)
    await run(`people remove ${ada} --yes`)
    await run(`people rm ${ada} -y --json`)

    about('secrets')
    await run('secrets set CRM_TOKEN', { stdin: 'hush' })
    await run('secrets set CRM_TOKEN --hosts crm.example.com')
    await run('secrets set CRM_TOKEN --hosts crm.example.com,api.example.com', { stdin: 'hush\n' })
    await run('secrets set SHOP_TOKEN --hosts shop.example.com --json', { stdin: 'hush' })
    await run('secrets set crm-token --hosts crm.example.com', { stdin: 'hush' })
    await both('secrets list')
    await run('secrets remove CRM_TOKEN')
    await run('secrets remove CRM_TOKEN --yes')
    await run('secrets rm CRM_TOKEN -y --json')

    about('providers')
    await run(`providers set near --base-url ${model.url}`, { stdin: 'hush' })
    await run('providers set openai --type openai --no-key --json')
    await run('providers set far', { stdin: 'hush' })
    await run('providers set far --type other', { stdin: 'hush' })
    await both('providers list')
    await both('providers models near')
    await both('providers test near')
    await run('providers test near --model tiny')
    await run('providers test nowhere')
    await run('providers remove local')
    await run('providers remove local --yes')
    await run('providers remove near --yes')
    await run('providers rm openai -y --json')

    about('pauses')
    await run('pause')
    await run('pause "The bill is too high"')
    await run('invoke hello Ahoy')
    await run('invoke hello Ahoy --json')
    await run('pause "All of it" --all-projects --json')
    await run('resume')
    await run('resume --all-projects')

    about('the audit log')
    await until('every entry is in the chain', async () => {
      const { body } = await service.call('GET', '/v1/audit-log?limit=1')
      return body.data[0].seq !== null
    })
    await run('audit list --limit 12')
    await run('audit ls --action setSecret --json')
    await run('audit ls --outcome refused')
    await run('audit ls --agent hello')
    await run('audit ls --since 10m --until 5m')
    await run('audit ls --action nonsense')
    await both('audit head')
    await run('audit verify', { env: { MOORAGE_DATA: service.data } })
    await run('audit verify --pinned 1:ab')
    approve(
      t,
      'cli/access.txt',
      text([
        USED,
        HINT,
        STORED,
        [/\b[0-9a-f]{64}\b/g, 'hash'],
        [/#invitation=[\w-]+|(?<="token": ")[\w-]+/g, 'token'],
        [new RegExp(service.data, 'g'), 'data'],
      ]),
    )
  })

  test('console sessions', async (t) => {
    const { run, both, text } = transcriptOf(() => shell)
    const tab = new ConsoleTab(() => service)
    await tab.signIn(service.admin)
    pass(600_000)
    await tab.isIn()
    const [session] = JSON.parse((await both('console sessions')).stdout) as { id: string }[]
    await run('console sessions --key key_00000000000000000000000000')
    await run(`console sign-out ${session?.id} --yes`)
    await run('console sessions')
    approve(t, 'cli/console-sessions.txt', text())
  })
})
