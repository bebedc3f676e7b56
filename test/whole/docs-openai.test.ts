import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { codeBlocks, ROOT, readDoc } from '../support/house/docs.ts'
import { type Service, startService } from '../support/service/service.ts'

const run = promisify(execFile)

/**
 * The package `ai` is not here. What its program sets up is: the provider. So the provider is asked as `generateText` asks
 * it, and the rest of the program runs as it is.
 */
const GENERATE_TEXT = `const generateText = async ({ model, prompt }) => {
  const { content } = await model.doGenerate({ prompt: [{ role: 'user', content: [{ type: 'text', text: prompt }] }] })
  return { text: content.map((part) => part.text).join('') }
}`

describe('the programs of docs/openai.md', () => {
  let service: Service
  before(async () => {
    service = await startService('sqlite')
  })
  after(() => service.stop())

  const programs = codeBlocks(readDoc('docs/openai.md')).filter(({ language }) => language === 'ts')
  assert.equal(programs.length, 3)
  for (const { code } of programs) {
    test(`${/from '(.*)'/.exec(code)?.[1]} gets an answer`, async () => {
      const here = code.replaceAll('http://127.0.0.1:8787', service.url).replaceAll('mrg_…', service.admin)
      const asked = here.replace("import { generateText } from 'ai'", GENERATE_TEXT)
      const program = asked === here ? here : `${asked}\nconsole.log(text)`
      const { stdout } = await run(process.execPath, ['--input-type=module-typescript', '-e', program], {
        cwd: fileURLToPath(ROOT),
      })
      assert.match(stdout, /Ahoy/)
    })
  }

  /** Python packages cannot be installed here: this is the request that OpenAI's Python SDK documents and sends. */
  test('OpenAI in Python gets an answer', async () => {
    const program = codeBlocks(readDoc('docs/openai.md')).find(({ language }) => language === 'python')
    const [, base] = /base_url="(.*?)"/.exec(program?.code ?? '') ?? []
    const [, model] = /model="(.*?)"/.exec(program?.code ?? '') ?? []
    const reply = await fetch(`${base?.replace('http://127.0.0.1:8787', service.url)}/chat/completions`, {
      method: 'POST',
      headers: {
        Accept: 'application/json',
        'Content-Type': 'application/json',
        'User-Agent': 'OpenAI/Python 2.8.0',
        'X-Stainless-Lang': 'python',
        'X-Stainless-Async': 'false',
        'X-Stainless-Retry-Count': '0',
        'x-stainless-read-timeout': '600',
        Authorization: `Bearer ${service.admin}`,
      },
      body: JSON.stringify({ messages: [{ role: 'user', content: 'Ahoy' }], model }),
    })
    assert.equal(reply.status, 200)
    const completion = (await reply.json()) as { object: string; choices: { message: { content: string } }[] }
    assert.deepEqual([completion.object, completion.choices[0]?.message.content], ['chat.completion', 'Ahoy'])
  })

  /** Open WebUI cannot be installed here either: it lists the models, and streams with the fields below. */
  test('Open WebUI finds the models and streams an answer', async () => {
    const settings = codeBlocks(readDoc('docs/openai.md')).find(({ code }) => code.startsWith('OPENAI_API_BASE_URL'))
    const [, base = ''] = /OPENAI_API_BASE_URL=(\S+)/.exec(settings?.code ?? '') ?? []
    const url = base.replace('http://host.docker.internal:8787', service.url)
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${service.admin}` }
    const listed = (await (await fetch(`${url}/models`, { headers })).json()) as { data: { id: string }[] }
    assert.ok(listed.data.some(({ id }) => id === 'hello'))
    const reply = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        stream: true,
        model: 'hello',
        messages: [{ role: 'user', content: 'Ahoy' }],
        stream_options: { include_usage: true },
      }),
    })
    assert.match(reply.headers.get('content-type') ?? '', /^text\/event-stream/)
    const text = await reply.text()
    assert.match(text, /"content":"Ahoy"/)
    assert.match(text, /"usage":\{"prompt_tokens"/)
    assert.ok(text.endsWith('data: [DONE]\n\n'))
  })
})
