import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { pass, startClock, stopClock, transcriptOf } from '../support/clients/transcript.ts'
import { LOCAL_TOOLS, type LocalServer, startLocalServer } from '../support/outside/local-server.ts'
import { type ModelServer, startModelServer } from '../support/outside/model-server.ts'
import { approve } from '../support/running/approved.ts'
import { until } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'
import { localProvider } from '../support/service/with-model.ts'

const PRICES = [
  { model: 'local/tiny', input: 300, cached_input: 100, output: 1500, reasoning: 700, request: 0.001 },
  { model: 'builtin/*', input: 0, output: 0 },
]

describe('output of the commands for monitoring', () => {
  let model: ModelServer
  let receiver: LocalServer
  let service: Service
  let shell: Shell
  let status = 204
  before(async () => {
    stopClock()
    model = await startModelServer()
    let answers = 0
    model.replyBy(({ model: name }) => {
      answers += 1
      pass(100 * answers)
      if (answers === 3) return { status: 400, body: { error: { message: 'out of order' } } }
      return {
        text: [`Answer ${answers} of ${name}`],
        usage: {
          prompt_tokens: 100 + answers,
          completion_tokens: 30 + answers,
          prompt_tokens_details: { cached_tokens: 50 },
          completion_tokens_details: { reasoning_tokens: 7 },
        },
      }
    })
    receiver = await startLocalServer((_request, response) => {
      response.writeHead(status).end('thanks')
    })
    const prices = { MOORAGE_PRICES: JSON.stringify(PRICES) }
    service = await startService('sqlite', { ...LOCAL_TOOLS, ...localProvider(model.url), ...prices })
    shell = newShell(service)
    for (const [name, of] of [
      ['clerk', 'local/tiny'],
      ['guide', 'local/large'],
    ]) {
      pass(1)
      const made = await service.call('POST', '/v1/agents', { body: { name, model: of } })
      assert.equal(made.status, 201, made.text)
    }
  })
  after(async () => {
    await service.stop()
    await model.close()
    await receiver.close()
    shell.remove()
    startClock()
  })
  const delivered = (webhook: string, attempts: number) =>
    until(`${attempts} attempts were made`, async () => {
      const { body } = await service.call('GET', `/v1/webhooks/${webhook}/deliveries`)
      const counts = body.data.map((one: { attempt_count: number }) => one.attempt_count) as number[]
      return counts.reduce((sum, count) => sum + count, 0) === attempts
    })

  test('logs, metrics, usage and budgets', async (t) => {
    const { run, both, about, text } = transcriptOf(() => shell)
    about('budgets')
    await run('budgets create Clerk --usd 100 --scope agent --for clerk --at 40 90')
    await run('budgets create Users --runs 5 --scope user --per ever --action notify --json')
    await run('budgets create All --tokens 90000 --per day --timezone Europe/Berlin')
    await run('budgets create None')
    await run('budgets create Two --usd 1 --runs 2')
    await run('budgets create Bad --usd much')
    await run('budgets create Bad --usd 1 --per year')
    about('runs')
    await run('invoke clerk One --user ada')
    await run('invoke guide Two --user ben')
    await run('invoke clerk Three --no-stream')
    await run('invoke clerk Four --user ada')
    about('logs')
    await both('logs clerk')
    await run('logs clerk --level error')
    await run('logs clerk --search completed --limit 1')
    await run('logs clerk --since 1m')
    await run('logs clerk --level loud')
    await run('logs clerk --limit 0')
    await run('logs clerk -f --limit 1', { stopWhen: (stdout) => stdout.includes('\n') })
    about('metrics')
    await run('metrics clerk')
    await both('metrics clerk --since 3h --granularity 1h')
    await run('metrics clerk response_time --aggregation max --granularity 5m --since 2h --values')
    await run('metrics clerk error_rate --since 2h --granularity 1h --json')
    await run('metrics clerk --table')
    await run('metrics clerk --table --since 2h --granularity 1h --json')
    await run('metrics hello')
    await run('metrics clerk speed')
    await run('metrics clerk --since 1h --granularity 2m')
    about('usage')
    await both('usage')
    await both('usage show --by agent,model,user,door')
    await run('usage --by key,environment --per day --timezone Asia/Tokyo')
    await run('usage --by project --all-projects')
    await run('usage --by model --csv')
    await run('usage --agent clerk --user ada')
    await run('usage --since 1m')
    await run('usage --by colour')
    await run('usage --per year')
    await run('usage reprice')
    await both('usage reprice --from 1d')
    await both('prices list --limit 3')
    about('budgets after the runs')
    await both('budgets list')
    await both('budgets get Clerk')
    await run('budgets get Users --subject ada')
    await run('budgets get Nobody')
    await run('budgets update Clerk')
    await run('budgets update Clerk --usd 0.001 --name Small')
    await run('invoke clerk Five')
    await run('invoke clerk Five --json')
    await run('budgets update Small --action notify --json')
    await run('budgets delete Small')
    await run('budgets delete Small --yes')
    await run('budgets rm Users -y --json')
    approve(t, 'cli/watch.txt', text([[/(?<="id": ?")[\w-]{16}(?=")/g, 'log']]))
  })

  test('webhooks and deliveries', async (t) => {
    const { run, both, about, text } = transcriptOf(() => shell)
    about('webhooks')
    const made = await run(
      `webhooks create ${receiver.url}/hook --events agent.completed,agent.failed --description "The shop"`,
    )
    await run(`webhooks create ${receiver.url}/clerk --events "*" --agent clerk --json`)
    await run(`webhooks create ${receiver.url}/hook`)
    await run('webhooks create https://example.com/hook --events agent.done')
    await run('webhooks create ftp://example.com --events "*"')
    const all = JSON.parse((await both('webhooks list')).stdout) as { id: string; url: string }[]
    const id = all.find(({ url }) => url.endsWith('/hook'))?.id ?? ''
    const other = all.find(({ url }) => url.endsWith('/clerk'))?.id ?? ''
    await run('webhooks ls --agent clerk')
    await run(`webhooks test ${id}`)
    status = 500
    await both(`webhooks test ${id}`)
    about('deliveries')
    await run('invoke guide Five')
    await delivered(id, 1)
    status = 204
    pass(3_600_000)
    await delivered(id, 2)
    await run('invoke guide Six --user ben')
    await delivered(id, 3)
    const list = await both(`webhooks deliveries ${id}`)
    const first = (JSON.parse(list.stdout) as { id: string }[]).at(-1)?.id ?? ''
    await run(`webhooks deliveries ${id} --status pending`)
    await run(`webhooks deliveries ${id} --event agent.completed --limit 1`)
    await run(`webhooks deliveries ${id} --event agent.done`)
    await both(`webhooks deliveries ${first}`)
    await run(`webhooks deliveries ${id} ${first}`)
    await run(`webhooks redeliver ${id} ${first}`)
    await delivered(id, 4)
    await run(`webhooks update ${other}`)
    await run(`webhooks update ${other} --url http://127.0.0.1:1`)
    await run(`webhooks update ${other} --status disabled --events agent.failed --description Quiet`)
    await run('webhooks ls --status disabled')
    await both(`webhooks get ${other}`)
    await run(`webhooks rotate-secret ${other} --grace 1h`)
    await run(`webhooks rotate-secret ${other} --grace 0s --json`)
    await run(`webhooks delete ${other}`)
    await run(`webhooks delete ${other} --yes`)
    await run(`webhooks get ${other}`)
    about('signatures')
    const secret = made.stdout.trim()
    const verify = (line: string) => run(line, { env: { WEBHOOK_SECRET: secret }, stdin: '{}' })
    await run('webhooks verify --body {}')
    await verify('webhooks verify --body -')
    await verify('webhooks verify --body - -H "X-Service-Signature: sha256=00"')
    await verify('webhooks verify --body - -H Nothing')
    await verify('webhooks verify --tolerance 1m')
    const more = [
      [/whsec_[\w+/=]+/g, 'secret'],
      [/whsec_…[\w+/=]+/g, 'hint'],
      // Attempts are timed by another clock.
      [/(?<="duration_ms": ?)\d+|(?<=204 in )\d+/g, 'ms'],
    ] as const
    approve(t, 'cli/webhooks.txt', text(more))
  })
})
