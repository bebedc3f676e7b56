import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CliRun, shellOfAdmin } from '../support/clients/cli.ts'

describe('a secret is shown once, on stdout', () => {
  const { service, shell } = shellOfAdmin()
  const local = () => ['--local', '--data', service().data]

  /** Anywhere else, the secret would end up in a log. */
  const toldOnce = ({ code, stdout, stderr }: CliRun, secret: RegExp) => {
    assert.equal(code, 0, stderr)
    assert.equal(stdout.match(new RegExp(secret, 'g'))?.length, 1, stdout)
    assert.doesNotMatch(stderr, secret)
  }
  const KEY = /mrg_\w{49}/
  const WEBHOOK_SECRET = /whsec_[\w+/=]{40,}/

  for (const json of [[], ['--json']]) {
    test(`keys create and rotate ${json.join()}`, async () => {
      toldOnce(await shell().moorage(['keys', 'create', 'ci', '--role', 'viewer', ...json]), KEY)
      toldOnce(await shell().moorage(['keys', 'create', 'ci', '--role', 'viewer', ...local(), ...json]), KEY)
      const { body } = await service().call('GET', '/v1/keys?limit=1')
      toldOnce(await shell().moorage(['keys', 'rotate', body.data[0].id, ...json]), KEY)
    })

    test(`webhooks create and rotate-secret ${json.join()}`, async () => {
      const create = ['webhooks', 'create', 'https://example.com/hook', '--events', '*', ...json]
      toldOnce(await shell().moorage(create), WEBHOOK_SECRET)
      const { body } = await service().call('GET', '/v1/webhooks?limit=1')
      toldOnce(await shell().moorage(['webhooks', 'rotate-secret', body.data[0].id, ...json]), WEBHOOK_SECRET)
    })
  }

  test('mfa enrol', async () => {
    const { body } = await service().call('POST', '/v1/keys', { body: { name: 'guarded', role: 'viewer' } })
    const enrolled = await shell().moorage(['mfa', 'enrol', body.data.id, ...local()])
    const secret = /secret=([A-Z2-7]+)/.exec(enrolled.stdout)?.[1]
    assert.ok(secret, enrolled.stdout)
    toldOnce(enrolled, new RegExp(secret))
  })

  test('the key that a command uses is never printed', async () => {
    for (const args of [
      ['whoami'],
      ['doctor'],
      ['profile'],
      ['agents', 'get', 'nobody'],
      ['agents', 'list', '--json'],
    ]) {
      const { stdout, stderr } = await shell().moorage(args)
      assert.ok(!`${stdout}${stderr}`.includes(service().admin), args.join(' '))
    }
  })
})
