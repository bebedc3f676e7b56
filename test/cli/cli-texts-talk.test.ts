import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { pass, startClock, stopClock, transcriptOf } from '../support/clients/transcript.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { approve } from '../support/running/approved.ts'
import { until } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'
import { approver, refundingAgent } from '../support/slices/approvals.ts'

const PRICES = JSON.stringify([{ model: 'local/tiny', input: 300, cached_input: 100, output: 1500, reasoning: 700 }])

/** What the model of the scene uses in each answer. */
const USAGE = {
  prompt_tokens: 120,
  completion_tokens: 34,
  prompt_tokens_details: { cached_tokens: 50 },
  completion_tokens_details: { reasoning_tokens: 7 },
}

describe('output of the commands that talk to agents', () => {
  let model: ModelServer
  let till: LocalServer
  let service: Service
  let shell: Shell
  let lead: string
  before(async () => {
    stopClock()
    model = await startModelServer()
    model.replyBy(({ messages }) => {
      pass(253)
      return { text: ['Heard: ', String(messages.at(-1)?.content)], usage: USAGE }
    })
    till = await startLocalServer((_request, response) => {
      pass(37)
      response.end('refunded')
    })
    service = await startService('sqlite', { ...LOCAL_TOOLS, ...localProvider(model.url), MOORAGE_PRICES: PRICES })
    shell = newShell(service)
    lead = await approver(service)
    const make = async (name: string, body: object) => {
      pass(1)
      const made = await service.call('POST', '/v1/agents', { body: { name, ...body } })
      assert.equal(made.status, 201, made.text)
    }
    await make('clerk', { model: 'local/tiny', instructions: 'You are a clerk.' })
    await make('till', refundingAgent(till))
    const rules = [{ match: { contains: 'broken' }, fail: 'the stock system did not answer' }]
    await make('stock', { model: 'builtin/script', script: { rules, fallback: 'In stock' } })
    const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const fixed = { rules: [], fallback: '{"city":"Kiel"}' }
    await make('form', { model: 'builtin/script', script: fixed, output: { schema } })
  })
  after(async () => {
    await service.stop()
    await model.close()
    await till.close()
    shell.remove()
    startClock()
  })
  const untilStatus = (agent: string, id: string, status: string) =>
    until(`${id} is ${status}`, async () => {
      const { body } = await service.call('GET', `/v1/agents/${agent}/invocations/${id}`)
      return body.data?.status === status
    })
  const inFolder = (name: string, text: string) => writeFileSync(join(shell.folder, name), text)

  test('invoke, chat, invocations and approvals', async (t) => {
    const { run, both, about, text } = transcriptOf(() => shell)
    const asLead = { env: { MOORAGE_API_KEY: lead } }
    inFolder('list.txt', 'rope\nwinch\n')
    about('invoke')
    await run('invoke clerk Good morning')
    await run('invoke clerk --no-stream --user ada --session s1', { stdin: 'Where is my rope?\n' })
    const told = await run('invoke clerk "What is on it?" --attach list.txt --user ada --session s1 --json')
    const asked = JSON.parse(told.stdout).request_id as string
    await run('invoke form city')
    await run('invoke form city --output')
    await run('invoke stock rope --output')
    await run('invoke stock rope --schema "[]"')
    await run(`invoke stock rope --schema missing.json`)
    await run('invoke stock broken')
    await run('invoke stock broken --json')
    await run('invoke stoc rope')
    await run('invoke stock rope --context "[1]"')
    await run('invoke stock rope --context "{"')
    await run('invoke stock rope --attach missing.txt')
    await run('invoke stock rope -e nowhere')
    await run('invoke stock rope --on-budget perhaps --background')
    await run('invoke stock')
    const { stdout } = await run('invoke stock later --background')
    const queued = stdout.trim()
    await untilStatus('stock', queued, 'completed')
    const keyed = await run('invoke stock later --background --json --idempotency-key once')
    await untilStatus('stock', JSON.parse(keyed.stdout).request_id, 'completed')
    about('chat')
    await run('chat clerk', { stdin: 'One\n/attach list.txt\nTwo\n/exit\n' })
    await run('chat clerk --json', { stdin: 'One\n' })
    await run('chat nobody', { stdin: 'One\n' })

    about('approvals')
    const waiting = await run('invoke till 4711 --user ada')
    const id = /req_\w+/.exec(waiting.stderr)?.[0] ?? ''
    await run('invoke till 4712 --json', asLead)
    await both('approvals list')
    await run('approvals ls --agent till --user ada')
    await run('approvals ls --status approved')
    await both(`approvals get ${id}`)
    await run(`approvals approve ${id}`)
    await run(`approvals approve ${id} --arguments "{"`, asLead)
    await run(`approvals approve ${id} --arguments '{"order":"4711","amount":12}'`, asLead)
    await untilStatus('till', id, 'completed')
    await run(`approvals approve ${id}`, asLead)
    await run(`approvals answer ${id} yes`, asLead)
    await run('approvals get req_00000000000000000000000000')
    const third = /req_\w+/.exec((await run('invoke till 4713')).stderr)?.[0] ?? ''
    await run(`approvals reject ${third} --note "Too much" --json`, asLead)
    await untilStatus('till', third, 'completed')
    const fourth = /req_\w+/.exec((await run('invoke till 4714 --no-stream')).stderr)?.[0] ?? ''
    await run('approvals ls --status all')

    await run(`login ${service.url} --profile desk`, { stdin: service.admin })
    await run('invoke till 4715 --profile desk', { env: { MOORAGE_URL: '', MOORAGE_API_KEY: '' } })

    about('invocations')
    await run('invocations list')
    await run('invocations ls --limit 2 --json')
    await run('invocations ls clerk --user ada --session s1')
    await run('invocations ls stock --status failed')
    await run('invocations ls --door openai')
    await run('invocations ls --door window')
    await run('invocations ls --schedule sch_1')
    await both(`invocations get clerk ${asked}`)
    await run(`invocations get till ${id}`)
    await run(`invocations get till ${third}`)
    await both(`invocations follow stock ${queued}`)
    await both(`invocations prompt clerk ${asked}`)
    await run(`invocations prompt clerk ${asked} --step 9`)
    await both(`invocations effects clerk ${asked}`)
    await run(`invocations effects stock ${queued}`)
    await run(`invocations cancel till ${fourth}`)
    await run(`invocations cancel till ${fourth} --json`)
    await run(`invocations erase clerk ${asked}`)
    await run(`invocations erase clerk ${asked} --yes`)
    await run(`invocations get clerk ${asked}`)
    await run('invocations get clerk req_00000000000000000000000000')
    approve(t, 'cli/talk.txt', text([[/cli-[0-9a-f]{8}-[0-9a-f-]{27}/g, 'session']]))
  })
})
