import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { REVISIONS, type Revision } from '../../support/clients/mcp-client.ts'
import { LOCAL_TOOLS, type LocalServer, readBody, startLocalServer } from '../../support/outside/local-server.ts'
import { type McpServer, startMcpServer } from '../../support/outside/mcp-server.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { createAgent } from '../../support/slices/resources.ts'

const runner = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')

/** What the official runner tests and an agent hosting service does not have, with the reasons. */
const EXPECTED_FAILURES: { reason: string; scenarios: string[]; only?: Revision }[] = [
  {
    reason: 'it has tools, but neither prompts nor resources nor completions',
    scenarios: [
      'completion-complete',
      'prompts-get-embedded-resource',
      'prompts-get-simple',
      'prompts-get-with-args',
      'prompts-get-with-image',
      'prompts-list',
      'resources-list',
      'resources-read-binary',
      'resources-read-text',
      'resources-templates-read',
    ],
  },
  {
    reason: 'the same; of their lists the runner wants hints for caches too',
    scenarios: ['caching'],
    only: '2026-07-28',
  },
  { reason: 'the same', scenarios: ['resources-subscribe', 'resources-unsubscribe'], only: '2025-11-25' },
  {
    reason: 'the runner wants a tool with a schema of its own; an agent is asked with a message',
    scenarios: ['json-schema-2020-12'],
  },
  {
    reason: 'the runner wants three messages of progress; a script says its answer at once (mcp.test.ts has progress)',
    scenarios: ['tools-call-with-progress'],
  },
  {
    reason: 'the runner’s own diagnostic tools are missing, so one check cannot be made',
    scenarios: ['http-custom-header-server-validation', 'server-stateless'],
    only: '2026-07-28',
  },
  {
    reason: 'an agent asks its caller for nothing: no sampling, no elicitation, no roots',
    scenarios: [
      'input-required-result-basic-elicitation',
      'input-required-result-basic-list-roots',
      'input-required-result-basic-sampling',
      'input-required-result-capability-check',
      'input-required-result-multi-round',
      'input-required-result-multiple-input-requests',
      'input-required-result-non-tool-request',
      'input-required-result-request-state',
      'input-required-result-result-type',
      'input-required-result-tampered-state',
    ],
    only: '2026-07-28',
  },
  {
    reason: 'the same',
    scenarios: [
      'elicitation-sep1034-defaults',
      'elicitation-sep1330-enums',
      'tools-call-elicitation',
      'tools-call-sampling',
    ],
    only: '2025-11-25',
  },
  {
    reason: 'the log of an agent is read from the API, not sent to its callers',
    scenarios: ['logging-set-level', 'tools-call-with-logging'],
    only: '2025-11-25',
  },
  {
    reason: 'the extension of tasks has no implementation in the official SDK',
    scenarios: [
      'tasks-capability-negotiation',
      'tasks-dispatch-and-envelope',
      'tasks-lifecycle',
      'tasks-mrtr-composition',
      'tasks-mrtr-input',
      'tasks-request-headers',
      'tasks-request-state-removal',
      'tasks-required-task-error',
      'tasks-wire-fields',
    ],
    only: '2026-07-28',
  },
  {
    reason: 'a stream that broke is not taken up again: the run was cancelled with it',
    scenarios: ['server-sse-polling'],
    only: '2025-11-25',
  },
]

const IMAGE = {
  type: 'image',
  mimeType: 'image/png',
  data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
}
const AUDIO = {
  type: 'audio',
  mimeType: 'audio/wav',
  data: Buffer.from('RIFF\u0024\0\0\0WAVEfmt \u0010\0\0\0\u0001\0\u0001\0', 'latin1').toString('base64'),
}
const TABLE = { type: 'resource', resource: { uri: 'file:///table.csv', mimeType: 'text/csv', blob: 'YSxiCjEsMg==' } }

/** What the tool of an agent answers, by the name of the tool that the runner calls. The agent has it in its answer. */
const MADE: Record<string, object[]> = {
  test_image_content: [IMAGE],
  test_audio_content: [AUDIO],
  test_embedded_resource: [TABLE],
  test_multiple_content_types: [IMAGE, TABLE],
}
const SAID: Record<string, object> = {
  test_simple_text: { reply: 'This is a simple text response for testing.' },
  test_error_handling: { fail: 'This tool intentionally returns an error for testing' },
}

const agentFor = (tool: string) => tool.replaceAll('_', '-')

async function createAgents(service: Service, studio: McpServer): Promise<void> {
  const tools = [{ type: 'mcp', url: studio.url }]
  for (const tool of Object.keys(MADE)) {
    const script = { rules: [{ call: { tool, arguments: {} }, reply: 'Here it is' }] }
    await createAgent(service, agentFor(tool), { model: 'builtin/script', script, tools })
  }
  for (const [tool, rule] of Object.entries(SAID)) {
    await createAgent(service, agentFor(tool), { model: 'builtin/script', script: { rules: [rule] } })
  }
}

/** Names of agents have no underscore, and an agent is asked with a message: the call of a tool, said so. */
function inOurWords(body: string): string {
  const message = body === '' ? {} : JSON.parse(body)
  const { name } = message.params ?? {}
  if (message.method !== 'tools/call' || !(name in MADE || name in SAID)) return body
  return JSON.stringify({
    ...message,
    params: { ...message.params, name: agentFor(name), arguments: { message: 'Go' } },
  })
}

/**
 * The official conformance runner. It has no option for headers and its tools have names of its own, so a proxy adds the
 * key and says the names of agents. What the service answers reaches the runner as it is.
 */
describe('MCP conformance', { concurrency: true }, () => {
  let service: Service
  let proxy: LocalServer
  let studio: McpServer
  before(async () => {
    service = await startService('sqlite', LOCAL_TOOLS)
    studio = await startMcpServer(Object.entries(MADE).map(([name, content]) => ({ name, content })))
    await createAgents(service, studio)
    proxy = await startLocalServer(async (incoming, outgoing) => {
      const { method, headers } = incoming
      const sent = await readBody(incoming)
      const body = inOurWords(sent)
      const target = new URL('/v1/mcp', service.url)
      const own: OutgoingHttpHeaders = { ...headers, authorization: `Bearer ${service.admin}` }
      if (body !== sent) {
        own['content-length'] = Buffer.byteLength(body)
        // Clients of 2026-07-28 name the tool here too.
        if (typeof headers['mcp-name'] === 'string') own['mcp-name'] = agentFor(headers['mcp-name'])
      }
      const forward = httpRequest(target, { method, headers: own }, (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(outgoing)
      })
      forward.on('error', () => outgoing.destroy())
      outgoing.on('close', () => forward.destroy())
      forward.end(body)
    })
  })
  after(async () => {
    await proxy.close()
    await service.stop()
    await studio.close()
  })

  for (const revision of REVISIONS) {
    test(revision, async () => {
      const output = await conform(`${proxy.url}/mcp`, revision)
      const failed = [...new Set([...output.matchAll(/^✗ ([\w-]+):/gm)].map(([, name]) => name))].toSorted()
      const passed = new Set([...output.matchAll(/^✓ ([\w-]+):/gm)].map(([, name]) => name))
      const expected = EXPECTED_FAILURES.filter(({ only = revision }) => only === revision)
      assert.deepEqual(failed, expected.flatMap(({ scenarios }) => scenarios).toSorted(), output)
      for (const name of [
        'tools-list',
        'tools-call-simple-text',
        'tools-call-image',
        'tools-call-audio',
        'tools-call-error',
        'dns-rebinding-protection',
      ]) {
        assert.ok(passed.has(name), name)
      }
    })
  }
})

/** It ends with an error when a scenario fails; what failed is in its output. */
function conform(url: string, revision: Revision): Promise<string> {
  return new Promise((resolve) => {
    const args = [runner, 'server', '--url', url, '--requirements', revision]
    execFile(process.execPath, args, { maxBuffer: 10_000_000 }, (_error, stdout, stderr) => resolve(stdout + stderr))
  })
}
