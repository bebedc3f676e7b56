import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCAL_TOOLS } from '../../support/outside/local-server.ts'
import { until } from '../../support/running/until.ts'
import { newAgent } from '../../support/service/agents.ts'
import { holdRuns } from '../../support/service/held-runs.ts'
import { inProject, onAnyEngine, type Service } from '../../support/service/service.ts'
import { pdf } from '../../support/slices/files.ts'

async function newProject(service: Service, name: string): Promise<Service> {
  const { status, text } = await service.call('POST', '/v1/projects', { body: { name } })
  assert.equal(status, 201, text)
  return inProject(service, name)
}

const invoke = (project: Service, agent: string, body: object) =>
  project.call('POST', `/v1/agents/${agent}/invoke`, { body: { message: 'go', ...body } })

onAnyEngine(
  'resources that all projects share',
  (service) => {
    test('unfinished conversations of one project do not use up the memory for all others', async (t) => {
      const held = await holdRuns(t)
      const [noisy, quiet] = [await newProject(service(), 'noisy'), await newProject(service(), 'quiet')]
      const long = 'x'.repeat(95_000)
      const { rules } = (held.agent as { script: { rules: object[] } }).script
      const script = { rules: [{ match: { starts_with: 'xxx' }, reply: 'noted' }, ...rules] }
      const respond = async (project: Service, model: string, input: string, previous?: string) => {
        const body = { model, input, previous_response_id: previous }
        const reply = await project.call('POST', '/v1/responses', { body })
        assert.equal(reply.status, 200, reply.text)
        return reply.body.id as string
      }
      const agent = await newAgent(noisy, { ...held.agent, script })
      let last: string | undefined
      for (let link = 0; link < 24; link++) last = await respond(noisy, agent, long, last)
      // More than there is room for, if one project could take all of it.
      const hanging = Array.from({ length: 70 }, () =>
        noisy.call('POST', '/v1/responses', { body: { model: agent, input: 'go', previous_response_id: last } }),
      )
      await until('its share is taken', () => held.count() === 32)
      const other = await newAgent(quiet)
      const first = await respond(quiet, other, 'hello')
      await Promise.all(Array.from({ length: 3 }, () => respond(quiet, other, 'and now?', first)))
      const refused = (await Promise.all(hanging.map((reply) => Promise.race([reply, undefined])))).filter(Boolean)
      for (const reply of refused) assert.equal(reply?.status, 503)
      await noisy.call('DELETE', `/v1/agents/${agent}`)
      await Promise.all(hanging)
    })

    test("one project's PDFs do not delay another's, and a PDF in many requests is read once", async () => {
      const [noisy, quiet] = [await newProject(service(), 'readers'), await newProject(service(), 'reader')]
      const [many, one] = [await newAgent(noisy), await newAgent(quiet)]
      const attached = (text: string) => ({ attachments: [{ data: Buffer.from(text).toString('base64') }] })
      let ended = 0
      const long = Array.from({ length: 6 }, (_, i) =>
        invoke(noisy, many, attached(pdf(Array.from({ length: 2_000 }, (_page, j) => `${i} ${j} words`)))).finally(
          () => ended++,
        ),
      )
      await until('they are under way', async () => {
        const { body } = await noisy.call('GET', `/v1/agents/${many}/invocations?status=running`)
        return body.pagination.total + ended === 6
      })
      const short = attached(pdf(['Just this']))
      const replies = await Promise.all(Array.from({ length: 4 }, () => invoke(quiet, one, short)))
      assert.ok(ended < 6, `${ended} have ended`)
      for (const reply of replies) assert.equal(reply.status, 200, reply.text)
      const request_id = replies[0]?.body.data.request_id
      const receipt = await quiet.call('GET', `/v1/agents/${one}/invocations/${request_id}`)
      assert.equal(receipt.body.data.attachments[0].shown_as, 'text')
      // The others end with the service.
      void Promise.allSettled(long)
    })

    test("one project's slow schemas do not delay another's checks", async () => {
      const [noisy, quiet] = [await newProject(service(), 'backtracking'), await newProject(service(), 'plain')]
      const output = (pattern: string) => ({
        schema: { type: 'object', required: ['a'], properties: { a: { type: 'string', pattern } } },
      })
      const answering = (a: string, pattern: string) => ({
        model: 'builtin/script',
        script: { rules: [{ reply: JSON.stringify({ a }) }] },
        output: output(pattern),
      })
      const endless = answering(`${'a'.repeat(60)}!`, '^(a+)+$')
      const agents: string[] = []
      for (let i = 0; i < 12; i++) agents.push(await newAgent(noisy, endless))
      let ended = 0
      const slow = agents.map((agent) => invoke(noisy, agent, {}).finally(() => ended++))
      await until('one was given up', () => ended > 0)
      const agent = await newAgent(quiet, answering('yes', '^y'))
      const whole = await invoke(quiet, agent, {})
      assert.deepEqual([whole.status, whole.body.data?.output], [200, { a: 'yes' }], whole.text)
      const own = await invoke(quiet, agent, { output: output('^ye') })
      assert.equal(own.status, 200, own.text)
      assert.ok(ended < 12, `${ended} have ended`)
      // The others end with the service.
      void Promise.allSettled(slow)
    })
  },
  LOCAL_TOOLS,
)
