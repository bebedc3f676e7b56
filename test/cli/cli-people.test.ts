import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { PersonTab } from '../support/console/person-tab.ts'
import type { Account } from '../support/outside/oidc-issuer.ts'
import type { Service } from '../support/service/service.ts'
import { issuerOf, withIssuers } from '../support/service/with-issuers.ts'
import { createAgent, createKey } from '../support/slices/resources.ts'

const ada: Account = { name: 'Ada', email: 'ada@example.com', email_verified: true, groups: ['all'] }
const roles = [
  { group: 'all', project: 'default', role: 'developer' },
  { group: 'all', project: 'shop', role: 'viewer' },
]

/** Runs a command of the operator. Returns what it has printed. */
async function printed(service: Service, command: string): Promise<string> {
  const shell = newShell(service)
  const { code, stdout, stderr } = await shell.moorage(command.split(' '))
  shell.remove()
  assert.equal(code, 0, stderr)
  return stdout + stderr
}

test('people are named by address, projects by name, and the keys that people lose are listed', async (t) => {
  const issuer = await issuerOf(t)
  issuer.accounts.set('ada', ada)
  issuer.accounts.set('eve', { name: 'Eve', email: 'eve@example.com', email_verified: false, groups: ['all'] })
  await withIssuers('sqlite', [{ issuer, entry: { roles } }], async (service) => {
    const tab = new PersonTab(() => service)
    await tab.signInAs(issuer, 'ada')
    const hook = { url: 'https://example.com/hook', events: ['*'] }
    const { id: webhook } = (await tab.ask('POST', '/v1/webhooks', { body: hook })).body.data
    const refused = await tab.ask('GET', '/v1/keys')
    assert.match(refused.body.error.message, /"manage"/)
    const unreached = await tab.ask('POST', '/v1/projects', { body: { name: 'mine' } })
    assert.match(unreached.body.error.message, /^Your role here doesn't have|^Only a service administrator/)

    const alone = await printed(service, 'people list')
    assert.match(alone, /Ada +ada@example\.com +developer +20/)
    assert.doesNotMatch(alone + (await printed(service, 'keys list')), /prj_|all projects|OWNER/)
    assert.match(await printed(service, 'keys list'), /first admin key +all agents +admin/)

    await service.call('POST', '/v1/projects', { body: { name: 'shop' } })
    await tab.signInAs(issuer, 'ada')
    await new PersonTab(() => service).signInAs(issuer, 'eve')
    const several = await printed(service, 'people list')
    assert.match(several, /Ada +ada@example\.com +developer in default, viewer in shop/)
    assert.match(several, /Eve +eve@example\.com \(not verified\) +developer in default/)

    const make = async (permissions: string[]) =>
      (await tab.ask('POST', '/v1/personal-keys', { body: { name: `may ${permissions}`, permissions } })).body.data
    const [writes, reads] = [await make(['write']), await make(['read'])]
    const listed = await printed(service, 'keys list')
    assert.match(listed, /may write +Ada +default +write/)
    assert.match(listed, /first admin key +service +all projects +admin/)
    const less = await printed(service, 'people role ada@example.com caller')
    assert.match(less, /Ada: caller in default, viewer in shop/)
    assert.match(less, new RegExp(`have fewer permissions now: ${writes.id}\\n`))
    assert.match(less, new RegExp(`that stopped working: ${reads.id}\\n`))
    assert.match(await printed(service, 'people get ada@example.com'), /caller in default, viewer in shop/)

    const removed = await printed(service, 'people remove ada@example.com --yes')
    assert.match(removed, /Removed ada@example\.com\n/)
    assert.match(removed, new RegExp(`that stopped working: ${writes.id}\\n`))
    assert.match(removed, new RegExp(`Webhooks that they created, which keep working: ${webhook}\\n`))
    const shell = newShell(service)
    const gone = await shell.moorage(['people', 'get', 'ada@example.com'])
    shell.remove()
    assert.deepEqual(
      [gone.code, gone.stderr],
      [3, 'error: No person with the email address ada@example.com was found.\n'],
    )
  })
})

test('the audit log names the person, and a move lists the keys that it ended', async (t) => {
  const issuer = await issuerOf(t)
  issuer.accounts.set('ada', ada)
  await withIssuers('sqlite', [{ issuer, entry: { roles } }], async (service) => {
    const { id: shop } = (await service.call('POST', '/v1/projects', { body: { name: 'shop' } })).body.data
    const tab = new PersonTab(() => service)
    await tab.signInAs(issuer, 'ada')
    const { person } = await tab.session()
    const agent = await createAgent(service, 'clerk')
    const body = { name: 'mine', role: 'viewer', agent_id: agent }
    const { id: key } = (await tab.ask('POST', '/v1/personal-keys', { body })).body.data
    const log = await printed(service, 'audit list --action createPersonalKey')
    assert.match(log, new RegExp(`Ada \\(${person.id}\\) +createPersonalKey`))
    const moved = await printed(service, 'projects move clerk shop')
    assert.match(moved, new RegExp(`stopped working: ${key}\\n`))

    await createKey(service, { role: 'viewer' })
    await service.call('DELETE', `/v1/projects/${shop}?name=shop`)
    assert.match(await printed(service, `audit list --deleted-project ${shop}`), /moveAgent +success/)
  })
})

test('login --sso says for which project the key is, and which others there are', async (t) => {
  const issuer = await issuerOf(t)
  issuer.accounts.set('ada', ada)
  issuer.next = 'ada'
  await withIssuers('sqlite', [{ issuer, entry: { roles } }], async (service) => {
    const signIn = async (...more: string[]) => {
      const shell = newShell()
      let approving: Promise<void> | undefined
      const { code, stdout, stderr } = await shell.moorage(['login', service.url, '--sso', ...more], {
        stopWhen(_stdout, said) {
          const page = /or open (\S+)/.exec(said)?.[1]
          if (page) approving ??= new PersonTab(() => service).approveDevice(page)
          return false
        },
      })
      await approving
      shell.remove()
      assert.equal(code, 0, stderr + stdout)
      return stderr + stdout
    }
    assert.doesNotMatch(await signIn(), /project/)
    await service.call('POST', '/v1/projects', { body: { name: 'shop' } })
    assert.match(
      await signIn(),
      /for the project default. To use another project, sign in again with --project: shop\n/,
    )
    assert.match(await signIn('--project', 'shop'), /for the project shop\. .*--project: default\n/)
  })
})
