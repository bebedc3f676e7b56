import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type CliRun, newShell, type Shell } from '../support/clients/cli.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { until } from '../support/running/until.ts'
import { newAgent } from '../support/service/agents.ts'
import { built } from '../support/service/built.ts'
import { childEnv } from '../support/service/child.ts'
import { onOneEngine } from '../support/service/service.ts'
import { startWithModel } from '../support/service/with-model.ts'
import {
  approver,
  refundingAgent,
  startTill,
  startWaiting,
  type Till,
  untilStatus,
} from '../support/slices/approvals.ts'

const OTHER_KEY =
  "The key that started a run can't decide on its approvals. Use a key that wasn't created with that key, or set the agent's `approvals.self` to true to allow this in its next runs (docs/approvals.md#decide)."

onOneEngine(
  'moorage invoke, of a run that waits for a person',
  (service) => {
    let till: Till
    let shell: Shell
    before(async () => {
      till = await startTill()
      shell = newShell(service())
    })
    after(async () => {
      shell.remove()
      await till.close()
    })
    const requestOf = ({ stderr }: CliRun) => /req_\w+/.exec(stderr)?.[0] ?? stderr

    for (const flags of [[], ['--no-stream']]) {
      test(`ends with exit code 8 and says on stderr what will help ${flags.join()}`, async () => {
        const agent = await newAgent(service(), refundingAgent(till))
        const ran = await shell.moorage(['invoke', agent, 'order-1', ...flags])
        const id = requestOf(ran)
        assert.equal(ran.code, 8, ran.stderr)
        assert.equal(ran.stdout, '')
        const lines = ran.stderr.split('\n')
        const asked = 'The run waits for a person to decide.'
        assert.deepEqual(lines.slice(lines.indexOf(asked)), [
          asked,
          '  refund {"order":"order-1","amount":120}',
          `waiting ${id} has no answer yet. The run waits for a person to decide.`,
          `  ${OTHER_KEY}`,
          `  MOORAGE_URL=${service().url} MOORAGE_API_KEY='another key' moorage approvals approve ${id}`,
          `  moorage invocations follow ${agent} ${id}   # prints the answer`,
          '',
        ])
      })
    }

    test('the command that it prints decides, word for word, with another key in the place of its hint', async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const ran = await shell.moorage(['invoke', agent, 'order-2'])
      const command = /MOORAGE_URL=.*/.exec(ran.stderr)?.[0].replace('another key', await approver(service())) ?? ''
      const moorage = `moorage() { '${process.execPath}' '${built('cli')}' "$@"; }`
      const options = { cwd: shell.folder, env: childEnv() }
      const { stderr } = await promisify(execFile)('bash', ['-c', `${moorage}; ${command}`], options)
      assert.match(stderr, /refund is approved/)
      const followed = await shell.moorage(['invocations', 'follow', agent, requestOf(ran)])
      assert.match(followed.stdout, /Said: refunded 120/)
    })

    test('a key that may decide its own runs is shown the plain command, for each call', async () => {
      const agent = await newAgent(service(), { ...refundingAgent(till), approvals: { self: true } })
      const ran = await shell.moorage(['invoke', agent, 'order-3', '--url', service().url])
      const id = requestOf(ran)
      assert.ok(ran.stderr.includes(`\n  moorage approvals approve ${id} --url ${service().url}\n`), ran.stderr)
      const decided = await shell.moorage(['approvals', 'approve', id, '--url', service().url])
      assert.equal(decided.code, 0, decided.stderr)
    })

    test('invalid arguments do not approve the call unchanged', async () => {
      const agent = await newAgent(service(), { ...refundingAgent(till), approvals: { self: true } })
      const { request_id, path } = await startWaiting(service(), agent, 'order-5')
      for (const given of ['', 'null', '0', 'false']) {
        const { code, stderr } = await shell.moorage(['approvals', 'approve', request_id, '--arguments', given])
        assert.equal(code, 2, stderr)
      }
      assert.equal((await service().call('GET', path)).body.data.status, 'waiting')
      assert.deepEqual(till.of('order-5'), [])
    })

    test('a question is answered', async () => {
      const agent = await newAgent(service(), {
        model: 'builtin/script',
        approvals: { self: true },
        tools: [{ type: 'ask_person' }],
        script: { rules: [{ call: { tool: 'ask_person', arguments: { question: 'Port?' } }, reply: '{{result}}' }] },
      })
      const ran = await shell.moorage(['invoke', agent, 'which way'])
      assert.ok(ran.stderr.includes(`\n  moorage approvals answer ${requestOf(ran)} "…"\n`), ran.stderr)
    })

    test('--json: the event on stdout, the error with its exit code last on stderr', async () => {
      const agent = await newAgent(service(), refundingAgent(till))
      const { code, stdout, stderr } = await shell.moorage(['invoke', agent, 'order-4', '--json'])
      assert.equal(code, 8, stderr)
      const { type, request_id } = JSON.parse(stdout)
      assert.equal(type, 'waiting')
      const { hint, ...error } = JSON.parse(stderr).error
      const message = `${request_id} has no answer yet. The run waits for a person to decide.`
      assert.deepEqual(error, { code: 'waiting', message })
      assert.match(hint, /approvals approve/)
      assert.equal(JSON.parse(stderr).exit_code, 8)
    })
  },
  LOCAL_TOOLS,
)

test('moorage approvals: if a run asks again, the pending call is decided without naming it', async () => {
  const till = await startTill()
  const { service, model, stop } = await startWithModel('sqlite', LOCAL_TOOLS)
  const shell = newShell(service)
  try {
    const { tools } = refundingAgent(till)
    const agent = await newAgent(service, { model: 'local/tiny', tools, approvals: { self: true } })
    const refund = (amount: number) => ({ calls: [{ name: 'refund', arguments: { order: 'twice', amount } }] })
    model.reply(refund(1), refund(2), { text: ['Both are refunded.'] })
    const { request_id, path } = await startWaiting(service, agent, 'go')
    for (const amount of [1, 2]) {
      const isAsked = async () => {
        const { body } = await service.call('GET', `/v1/approvals?status=pending&request_id=${request_id}`)
        return body.data[0]?.arguments.amount === amount
      }
      await until(`it asks for ${amount}`, isAsked)
      const decided = await shell.moorage(['approvals', 'approve', request_id])
      assert.equal(decided.code, 0, decided.stderr)
    }
    assert.equal((await untilStatus(service, path, 'completed')).response, 'Both are refunded.')
    assert.deepEqual(
      till.of('twice').map(({ amount }) => amount),
      [1, 2],
    )
  } finally {
    shell.remove()
    await stop()
    await till.close()
  }
})
