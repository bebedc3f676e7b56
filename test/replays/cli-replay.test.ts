import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { newAgent } from '../support/service/agents.ts'
import { onAnyEngine } from '../support/service/service.ts'

const GOOD = { rules: [{ match: { contains: 'tide' }, reply: 'The tide is in.' }], fallback: 'No.' }
const BAD = { rules: [], fallback: 'No | <b>idea</b> & "more"' }

onAnyEngine('moorage replay', (service) => {
  let shell: Shell
  before(() => (shell = newShell(service())))
  after(() => shell.remove())

  test('a bad answer becomes a case, and a change that brings it back fails the build', async () => {
    const agent = await newAgent(service(), { model: 'builtin/script', script: BAD })
    const run = async (message: string) => {
      const { body } = await service().call('POST', `/v1/agents/${agent}/invoke`, { body: { message } })
      return body.data.request_id as string
    }
    const runs = []
    for (let i = 0; i < 6; i++) runs.push(await run(`Is the tide in at pier ${i}?`))
    const rated = await shell.moorage(['feedback', 'give', agent, runs[0] ?? '', '--bad'])
    assert.equal(rated.code, 0, rated.stderr)
    const saved = await shell.moorage(['sets', 'put', agent, 'tides', '--runs', ...runs])
    assert.deepEqual([saved.code, saved.stderr], [0, '✔ Saved the set "tides" (cases: 6)\n'])

    const script = async (to: object) => {
      const reply = await service().call('PATCH', `/v1/agents/${agent}`, { body: { script: to } })
      assert.equal(reply.status, 200, reply.text)
    }
    const replay = (...more: string[]) =>
      shell.moorage(['replay', '--agent', agent, '--set', 'tides', '--contains', 'tide', ...more])
    await script(GOOD)
    const better = await replay('--fail-on', 'inconclusive', '--min-pass', '1')
    assert.equal(better.code, 0, better.stderr)
    assert.match(better.stderr, /✔ passed: 0 of 6 cases got worse and 6 better/)
    const deployed = await shell.moorage(['deployments', 'create', agent, 'v1'])
    assert.equal(deployed.code, 0, deployed.stderr)

    await script(BAD)
    const [markdown, junit] = [join(shell.folder, 'report.md'), join(shell.folder, 'report.xml')]
    const worse = await replay('--markdown', 'report.md', '--junit', 'report.xml')
    assert.equal(worse.code, 1)
    assert.match(worse.stderr, /error: regression: 6 of 6 cases got worse and 0 better/)
    const told = readFileSync(markdown, 'utf8')
    assert.match(told, /^## ❌ regression: the draft on the set `tides`\n/)
    assert.match(told, /\| baseline \(v1\) \| 6 \| 0 \| 0 \| 100 % \(61–100\) \|/)
    assert.match(told, /\| Is the tide in at pier 0\? \| contains \| No \\\| \\<b\\>idea\\<\/b\\> & "more" \|/)
    const xml = readFileSync(junit, 'utf8')
    assert.match(xml, /<testsuite name="replay tides" tests="6" failures="6" skipped="0">/)
    assert.match(xml, /<failure message="contains">No \| &lt;b&gt;idea&lt;\/b&gt; &amp; &quot;more&quot;<\/failure>/)

    const json = await replay('--fail-on', 'never', '--json', '--max-tokens', '10')
    assert.equal(json.code, 0, json.stderr)
    assert.equal(JSON.parse(json.stdout).reached_limit, 'tokens')
    assert.equal((await replay('--fail-on', 'inconclusive', '--max-tokens', '10')).code, 1)
    assert.equal((await shell.moorage(['replay', '--agent', agent])).code, 2)
    const nowhere = await shell.moorage(['replay', '--set', 'tides'])
    assert.deepEqual([nowhere.code, /agent\.yaml not found in this folder/.test(nowhere.stderr)], [2, true])
    assert.equal((await replay('--max-tokens', 'few')).code, 2)
    assert.equal((await replay('--min-pass', '80')).code, 2)
  })

  test('in the folder of an agent, its files are what is tested', async () => {
    const model = (reply: string) => `name: harbour\nmodel: builtin/script\nscript: { rules: [], fallback: ${reply} }\n`
    const write = (path: string, text: string) => writeFileSync(join(shell.folder, path), text)
    const replay = () => shell.moorage(['replay', '--set', 'greetings', '--junit', 'report.xml', '--markdown', '-'])
    mkdirSync(join(shell.folder, 'sets'))
    write('agent.yaml', model('Ahoy'))
    write('sets/greetings.yaml', 'cases:\n  - message: Hello!\n    checks: [{ type: contains, value: Ahoy }]\n')
    const first = await replay()
    assert.equal(first.code, 0, first.stderr)
    assert.match(first.stderr, /Created harbour/)
    assert.match(first.stderr, /Saved the set "greetings" from sets\/greetings\.yaml \(cases: 1\)/)
    assert.match(first.stderr, /✔ passed/)

    write('agent.yaml', `${model('Hi')}security: { hsts: { enabled: true } }\n`)
    const second = await replay()
    const { body: shown } = await service().call('GET', '/v1/agents/harbour')
    assert.equal(shown.data.security, null, 'a replay changes nothing that takes effect immediately')
    assert.match(second.stderr, /Updated harbour: script/)
    assert.match(
      second.stdout,
      /### Failed\n\n\| Case \| Failed checks \| Answer \|\n.*\n\| Hello\\! \| contains \| Hi \|/,
    )
    assert.match(readFileSync(join(shell.folder, 'report.xml'), 'utf8'), /tests="1" failures="1" skipped="0"/)

    write('sets/greetings.yaml', 'cases:\n  - message: Hi\n    checks: [{ type: schema, value: { type: text } }]\n')
    const unchecked = await replay()
    assert.equal(unchecked.code, 2)
    assert.match(unchecked.stderr, /cases\.0\.checks\.0\.value\.type/)

    write('sets/greetings.yaml', 'cases:\n  - message: Hello!\n    message: again\n')
    const wrong = await replay()
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /sets\/greetings\.yaml:3:5: cases\.message: appears twice/)
  })
})
