import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { newShell, type Shell } from '../support/clients/cli.ts'
import { pass, startClock, stopClock, transcriptOf } from '../support/clients/transcript.ts'
import { LOCAL_TOOLS } from '../support/outside/local-server.ts'
import { approve } from '../support/running/approved.ts'
import { until } from '../support/running/until.ts'
import { type Service, startService } from '../support/service/service.ts'

const EXPORTS = resolve(import.meta.dirname, '../fixtures/import')

describe('output of the commands for memory, users, files and schedules', () => {
  let service: Service
  let shell: Shell
  before(async () => {
    stopClock()
    service = await startService('sqlite', LOCAL_TOOLS)
    shell = newShell(service)
    const body = { name: 'clerk', model: 'builtin/script', script: { rules: [], fallback: 'Noted' } }
    assert.equal((await service.call('POST', '/v1/agents', { body })).status, 201)
  })
  after(async () => {
    await service.stop()
    shell.remove()
    startClock()
  })
  const inFolder = (name: string, text: string) => writeFileSync(join(shell.folder, name), text)
  const firstId = ({ stdout }: { stdout: string }) => (JSON.parse(stdout) as { id: string }[])[0]?.id ?? ''

  test('memory and users', async (t) => {
    const { run, both, about, text } = transcriptOf(() => shell)
    about('memory')
    await run('memory status')
    await run('memory status --json')
    await run('memory add clerk Ada has a Folkeboat --user ada')
    await run('memory add clerk --kind fact --user ada --session s1 --json', { stdin: 'The boat is red\n' })
    await run('memory add clerk "Ben likes ropes" --user ben')
    await run('memory add clerk --kind rumour x')
    await run('memory add clerk')
    await run('invoke clerk "Where is the red boat?" --user ada --session s1')
    await run('invoke clerk "Which rope?" --user ben --session s2 --no-stream')
    const list = await both('memory list clerk')
    const newest = firstId(list)
    await run('memory ls clerk --user ada --kind turn')
    await run('memory ls clerk --session s1 --limit 1')
    await run('memory ls clerk --after 12m --before 7m')
    await run('memory ls clerk --before soon')
    await run('memory ls clerk --user nobody')
    await both('memory search clerk red boat --user ada')
    await run('memory search clerk rope --min-score 2')
    await run('memory search clerk rope --min-score high')
    await both(`memory get clerk ${newest}`)
    await run(`memory update clerk ${newest}`)
    await run(`memory update clerk ${newest} --metadata "{"`)
    await run(
      `memory update clerk ${newest} A blue rope --kind note --metadata '{"seen":true}' --created-at 2027-01-02T03:04:05Z`,
    )
    await run(`memory update clerk ${newest} --role user --json`)
    await run(`memory get clerk ${newest}`)
    await run(`memory delete clerk ${newest}`)
    await run(`memory delete clerk ${newest} --yes`)
    await run(`memory rm clerk ${newest} -y --json`)
    await run(`memory get clerk ${newest}`)

    about('summaries')
    await run('memory summary clerk s1')
    await run('memory set-summary clerk s1 --user ada Ada asked for her boat')
    await both('memory summary clerk s1 --user ada')
    await run('memory delete-summary clerk s1 --user ada')
    await run('memory delete-summary clerk s1 --user ada --yes')

    about('users')
    await both('users list clerk')
    await both('users sessions clerk')
    await run('users sessions clerk --user ada')
    const { stdout } = await run('users export ada')
    inFolder('ada.jsonl', stdout)
    await run('users export nobody')
    await run('users erase ada')
    await run('users erase ada --yes')
    await run('users erase ben -y --json')

    about('imports')
    inFolder('odd.json', '{"what":"ever"}')
    await run('memory import clerk ada.jsonl --dry-run')
    await run('memory import clerk ada.jsonl --dry-run --json')
    await run('memory import clerk ada.jsonl --user eve --session old')
    for (const name of ['letta-agent.af', 'letta-messages.json', 'mem0.json']) {
      await run(`memory import clerk ${join(EXPORTS, name)} --dry-run`)
      await run(`memory import clerk ${join(EXPORTS, name)} --user cay --json`)
    }
    await run('memory import clerk odd.json')
    await run('memory import clerk missing.json')
    await run('memory ls clerk')
    await run('memory clear clerk')
    await run('memory clear clerk --user eve --yes')
    await run('memory clear clerk --session s1 --before 1d -y --json')
    await run('memory clear clerk -y')
    approve(
      t,
      'cli/memory.txt',
      text([
        [new RegExp(EXPORTS, 'g'), 'exports'],
        [/(?<="id":")[\w-]{16}(?=")/g, 'log'],
      ]),
    )
  })

  test('files and schedules', async (t) => {
    const { run, both, about, text } = transcriptOf(() => shell)
    about('files')
    inFolder('berths.csv', 'berth,metres\n4,7.7\n')
    const put = await run('files put berths.csv --user ada --expires-in 7d')
    const id = put.stdout.trim()
    await run('files put - --name note.txt --type text/plain --json', { stdin: 'Ahoy' })
    await run('files put missing.csv')
    await run('files put berths.csv --expires-in soon')
    await both('files list')
    await run('files ls --user ada')
    await run('files ls --type image/png')
    await run('files ls --limit 1')
    await both(`files show ${id}`)
    await run(`files get ${id}`)
    await run(`files get ${id} -o copy.csv`)
    await run(`files get ${id} -o copy.csv`)
    await run(`files delete ${id}`)
    await run(`files delete ${id} --yes`)
    await run(`files rm ${id} -y --json`)
    await run(`files show ${id}`)

    about('schedules')
    await run('schedules create clerk Count the ropes')
    await run('schedules create clerk Count --every 1h --cron "@daily"')
    await run('schedules create clerk Count --cron "61 * * * *"')
    await run('schedules create clerk Count --at tomorrow')
    const made = await run(
      'schedules create clerk Count the ropes --cron "0 9 * * MON-FRI" --timezone Europe/Berlin --name Morning --user ada --session s3 --overlap queue --catch-up one --on-budget wait',
    )
    const morning = made.stdout.trim()
    await run('schedules create clerk --every 90m --disabled --json', { stdin: 'Look around' })
    const once = (await run('schedules create clerk --at 30m Close the shop')).stdout.trim()
    await both('schedules list clerk')
    await both(`schedules get clerk ${morning}`)
    await run(`schedules update clerk ${morning}`)
    await run(`schedules update clerk ${morning} --every 2h -m "Count the winches"`)
    await run(`schedules pause clerk ${morning}`)
    await run('schedules ls clerk --limit 2')
    await run(`schedules resume clerk ${morning} --json`)
    const { stdout } = await run(`schedules run clerk ${morning}`)
    const request = stdout.trim()
    await until(`${request} has ended`, async () => {
      const { body } = await service.call('GET', `/v1/agents/clerk/invocations/${request}`)
      return body.data?.status === 'completed'
    })
    pass(3_600_000)
    await until('a tick was missed', async () => {
      const { body } = await service.call('GET', `/v1/agents/clerk/schedules/${once}`)
      return body.data?.missed === 1
    })
    await run(`schedules show clerk ${once}`)
    await run('invocations ls clerk --door schedule')
    await run(`invocations ls clerk --schedule ${morning}`)
    await run(`schedules delete clerk ${once}`)
    await run(`schedules delete clerk ${once} --yes`)
    await run(`schedules rm clerk ${morning} -y --json`)
    await run(`schedules get clerk ${morning}`)
    approve(t, 'cli/files-and-schedules.txt', text())
  })
})
