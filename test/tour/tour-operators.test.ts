import { until } from '../support/running/until.ts'
import { makeCrew } from '../support/tour/crew.ts'
import { printed } from '../support/tour/printed.ts'
import { tour } from '../support/tour/tour.ts'

tour('a tour of what operators read', (told, chapter, world) => {
  chapter('operators/log.txt', async () => {
    await makeCrew(told, world())
    const invoke = (agent: string, message: string, headers: Record<string, string> = {}) =>
      told.call('POST', `/v1/agents/${agent}/invoke`, { body: { message }, headers })
    await invoke('pilot', 'How is the weather?')
    await invoke('pilot', 'refuse this')
    await invoke('captain', 'stop now')
    await invoke('captain', 'how is the weather at sea?')
    await invoke('hello', 'ahoy', { Accept: 'text/event-stream' })
    await invoke('asking', 'May we?')
    await invoke('nobody', 'ahoy')
    await told.call('GET', '/v1/agents', { key: null })
    await told.call('POST', '/v1/agents', { body: '{"name":' })
    await told.call('GET', '/v2/agents')
    await told.call('POST', '/v1/keys', { body: { name: 'reader', role: 'viewer' } })
    // It has never run: what runs have left would be removed in the background, with lines of its own in the log.
    await told.call('DELETE', '/v1/agents/master')
    await until('the last request is logged', () => told.service.log().includes('"method":"DELETE"'))
    for (const line of told.service.log().trim().split('\n')) {
      const { time: _, ms, ...fields } = JSON.parse(line)
      told.say(JSON.stringify({ ...fields, ...(ms !== undefined && { ms: typeof ms }) }))
    }
  }, [[/(?<="(commit|node_version)":")[^"]+/g, 'its own']])

  chapter('operators/metrics.txt', async () => {
    const { headers, text } = await told.call('GET', '/metrics')
    told.say(`content-type: ${headers.get('content-type')}`)
    told.say(withoutMeasures(text))
  }, [[/engine="(sqlite|postgres)"|commit="\w*"|node_version="[\d.]+"/g, 'its own']])

  chapter('operators/reference.txt', async () => {
    const { text } = await told.call('GET', '/docs')
    const rows = [...text.matchAll(/<div class="field">.*?<\/div>/gs)].filter(([row]) => row.includes('class="place"'))
    const words = rows.map(([row]) =>
      row
        .replace(/<[^>]+>/g, ' ')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    told.say([...new Set(words)].join('\n'))
  })

  chapter('operators/system.txt', async () => {
    await until('what the deleted agent has left is looked for', async () => {
      const { body } = await told.service.call('GET', '/v1/system')
      return body.data.queues.every(({ waiting }: { waiting: number }) => waiting === 0)
    })
    const { body } = await told.call('GET', '/v1/system')
    const settings = body.data.settings.filter(
      ({ setting }: { setting: string }) => !/^(data|database\.url)$/.test(setting),
    )
    told.show('the system', { ...body.data, settings })
    const telemetry = await told.call('GET', '/v1/telemetry')
    const rows = telemetry.body.data.readings.map(({ samples, ...metric }: { samples: object[] }) => ({
      ...metric,
      ...samples[0],
    }))
    told.say(rows.map((row: object) => printed({ ...row, value: undefined })).join('\n'))
    for (const path of ['/healthz', '/readyz', '/v1/nowhere'])
      await told.tell('GET', path, { key: null, headersToo: true })
  }, [
    [/(?<="(started_at|seen_at|commit|engine|node_version)": ")[^"]+/g, 'its own'],
    [/(?<="(memory_bytes|busy_percent|bytes)": )\d+/g, 'n'],
    [/(?<="queue": "jobs", "waiting": \d+, "leased": )\d+/g, 'n'],
  ])
})

/** What is measured differs from run to run; which series there are, and what is counted, does not. */
const MEASURED =
  /^(process_|nodejs_|moorage_(journal|queue|leases|cache|disk|memory_limit|database_(connections|waiting)|.*duration_seconds_(sum|bucket)))/

function withoutMeasures(text: string): string {
  return text
    .split('\n')
    .map((line) => (MEASURED.test(line) ? line.replace(/ \S+$/, ' n') : line))
    .filter((line) => !/_bucket\{/.test(line) || /operation="createKey"|kind="tool"|journal_batch/.test(line))
    .join('\n')
}
