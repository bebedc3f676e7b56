import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { newShell } from '../support/clients/cli.ts'
import { type LocalServer, startLocalServer } from '../support/outside/local-server.ts'

const SELF = { id: 'key_1', name: 'ann', permissions: ['read'], roles: [], tiers: [], project_id: null, agent_id: null }
const DEVICE = { device: 'd', user_code: 'AB-CD', verification_uri: 'https://id.example.com/device', interval: 0 }

/** Answers each path with its function, in the envelope of the API. `undefined` closes the connection without an answer. */
function startAnswers(answers: Record<string, () => unknown>): Promise<LocalServer> {
  return startLocalServer(async (request, response) => {
    const data = await answers[request.url ?? '']?.()
    if (data === undefined) return void request.socket.destroy()
    response
      .writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'req_1' })
      .end(JSON.stringify({ success: true, data }))
  })
}

describe('moorage login while other things happen', () => {
  test('a login that is stored in the meantime is kept', async () => {
    const shell = newShell()
    const isAsked = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const slow = await startAnswers({
      '/v1/keys/self': () => {
        isAsked.resolve()
        return goOn.promise.then(() => SELF)
      },
    })
    const quick = await startAnswers({ '/v1/keys/self': () => SELF })
    try {
      const login = (url: string, profile: string) =>
        shell.moorage(['login', url, '--profile', profile], { stdin: `mrg_${profile}` })
      const first = login(slow.url, 'first')
      await isAsked.promise
      assert.equal((await login(quick.url, 'second')).code, 0)
      goOn.resolve()
      const { code, stderr } = await first
      assert.equal(code, 0, stderr)
      const { profiles } = JSON.parse(readFileSync(join(shell.folder, 'home/.config/moorage/config.json'), 'utf8'))
      assert.deepEqual(profiles, {
        first: { url: slow.url, key: 'mrg_first' },
        second: { url: quick.url, key: 'mrg_second' },
      })
    } finally {
      shell.remove()
      await slow.close()
      await quick.close()
    }
  })

  test('a break while the person signs in elsewhere does not end it', async () => {
    const shell = newShell()
    const answers = [undefined, { status: 'pending' }, { secret: 'mrg_ann', project: null, projects: [] }]
    const server = await startAnswers({
      '/console/devices': () => DEVICE,
      '/console/devices/key': () => answers.shift(),
      '/v1/keys/self': () => SELF,
    })
    try {
      const { code, stderr } = await shell.moorage(['login', server.url, '--sso'])
      assert.equal(code, 0, stderr)
      assert.match(stderr, /retrying\n.*The service is available again\.\n/)
      assert.match(stderr, /Logged in to .* as ann/)
    } finally {
      shell.remove()
      await server.close()
    }
  })
})
