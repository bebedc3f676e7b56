import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { HttpTool, Limits, McpTool, MemoryPolicy, Script, Tools } from '../../src/runtime/spec.ts'

const http = (more: Record<string, unknown>) => ({ type: 'http', name: 'x', url: 'https://example.com/', ...more })

function problems(shape: z.ZodType, value: unknown): string[] {
  return shape.safeParse(value).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? []
}

describe("an HTTP tool's schema", () => {
  test('fills in defaults', () => {
    assert.deepEqual(HttpTool.parse(http({})), {
      type: 'http',
      name: 'x',
      description: '',
      input_schema: { type: 'object', properties: {} },
      method: 'GET',
      url: 'https://example.com/',
      headers: {},
      timeout_ms: 30_000,
      retry: null,
      approval: 'never',
    })
  })

  test('accepts parameters in path and query', () => {
    for (const url of [
      'https://example.com/{a}/b{c_1}',
      'https://example.com?q={a}',
      'http://example.com:8080/x?{a}',
    ]) {
      assert.deepEqual(problems(HttpTool, http({ url })), [], url)
    }
  })

  const refused: Record<string, string> = {
    'ftp://example.com/': 'must start with https:// or http://',
    'https://{host}/': 'must not have a parameter in the host',
    'https://example.com{x}/': 'must not have a parameter in the host',
    'https://example.com:{port}/': 'must not have a parameter in the host',
    'https://{x}@example.com/': 'must not have a parameter in the host',
    'https://user:secret@example.com/': 'must not contain a user name or password',
    'https:\\\\example.com': 'must start with https:// or http://',
    'https://example.com\\@{x}': 'must not have spaces or backslashes',
    'https://exam\nple.com/': 'must not have spaces or backslashes',
    'https:///{host}/': 'must be a URL',
    'https://?{x}': 'must be a URL',
    'https://example.com/#{x}': 'must not have a fragment',
    'https://example.com/{a-b}': 'must contain parameters as {name}, with letters, digits and _',
    'https://example.com/{': 'must contain parameters as {name}, with letters, digits and _',
    'https://': 'must be a URL',
  }
  for (const [url, problem] of Object.entries(refused)) {
    test(`rejects ${url}`, () => {
      assert.deepEqual(problems(HttpTool, http({ url })), [`url: ${problem}`])
    })
  }

  test('rejects headers that frame the request, name another host or contain line breaks', () => {
    for (const name of ['Host', 'content-length', 'Transfer-Encoding', 'Proxy-Authorization', 'a b', '']) {
      assert.equal(HttpTool.safeParse(http({ headers: { [name]: 'x' } })).success, false, name)
    }
    assert.equal(HttpTool.safeParse(http({ headers: { 'x-a': 'a\r\nx-b: c' } })).success, false)
    assert.equal(HttpTool.safeParse(http({ headers: { 'x-a': 'Bearer {{secret.KEY}}' } })).success, true)
  })

  test('rejects unknown fields and two tools with the same name', () => {
    assert.equal(HttpTool.safeParse(http({ verb: 'GET' })).success, false)
    assert.deepEqual(problems(Tools, [http({}), http({})]), ['1.name: is used more than once'])
  })
})

describe('the other shapes', () => {
  test('an MCP address has no parameters', () => {
    assert.deepEqual(problems(McpTool, { type: 'mcp', url: 'https://example.com/{x}' }), [
      'url: must not have parameters',
    ])
  })

  test('limits and memory have defaults and ranges', () => {
    assert.deepEqual(Limits.parse({}), {
      timeout_ms: null,
      max_steps: 8,
      max_input_tokens: null,
      max_output_tokens: null,
      max_concurrency: null,
      cut_to_budget: false,
      max_tool_calls: null,
      max_tokens_per_run: null,
      max_cost_per_run: null,
    })
    assert.deepEqual(MemoryPolicy.parse({}), {
      remember: true,
      history: 20,
      recall: 5,
      facts: 'off',
      summarize: false,
      retention_days: null,
    })
    for (const limits of [
      { timeout_ms: 999 },
      { timeout_ms: 600_001 },
      { max_steps: 0 },
      { max_output_tokens: 0.5 },
      { max_input_tokens: 0 },
    ]) {
      assert.equal(Limits.safeParse(limits).success, false, JSON.stringify(limits))
    }
  })

  test('a rule has one condition and something to do', () => {
    assert.deepEqual(problems(Script, { rules: [{ match: { equals: 'a', contains: 'b' }, reply: 'x' }] }), [
      'rules.0.match: must have exactly one of equals, contains, starts_with',
    ])
    assert.deepEqual(problems(Script, { rules: [{ match: { equals: 'a' } }] }), [
      'rules.0: must have `reply`, `output`, `call` or `fail`',
    ])
  })

  test('all of them can be written as JSON Schema', () => {
    for (const shape of [Tools, Limits, MemoryPolicy, Script]) assert.ok(z.toJSONSchema(shape, { io: 'input' }))
  })
})

describe('docs/agents.md, docs/models.md and docs/tools.md', () => {
  test('every JSON sample fits the shapes', async () => {
    const pages = ['agents', 'models', 'tools'].map((page) => new URL(`../../docs/${page}.md`, import.meta.url))
    const text = (await Promise.all(pages.map((page) => readFile(page, 'utf8')))).join('\n')
    const samples = [...text.matchAll(/```json\n(.*?)```/gs)].map((match) => JSON.parse(match[1] ?? ''))
    assert.equal(samples.length, 6)
    const Sample = z
      .strictObject({
        name: z.string(),
        model: z.string(),
        instructions: z.string(),
        temperature: z.number(),
        tools: Tools,
        script: Script,
        memory: MemoryPolicy,
        limits: Limits,
      })
      .partial()
    for (const sample of samples) assert.deepEqual(problems(Sample, sample), [])
  })
})
