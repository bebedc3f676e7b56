import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { request as httpRequest } from 'node:http'
import { createRequire } from 'node:module'
import { after, before, describe, test } from 'node:test'
import { REVISIONS, type Revision } from '../../support/clients/mcp-client.ts'
import { type LocalServer, startLocalServer } from '../../support/outside/local-server.ts'
import { type Service, startService } from '../../support/service/service.ts'

const runner = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')

/** What the official runner asks for and an agent hosting service does not have, by the reason. */
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
    reason: 'the runner wants tools by names with underscores, such as test_image_content; agents have no such names',
    scenarios: [
      'json-schema-2020-12',
      'tools-call-audio',
      'tools-call-embedded-resource',
      'tools-call-image',
      'tools-call-mixed-content',
      'tools-call-with-progress',
    ],
  },
  {
    reason: 'the same: its diagnostic tools are missing, so one check cannot be made',
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

/** The official conformance runner. It has no option for headers, so a proxy adds the key. */
describe('MCP conformance', { concurrency: true }, () => {
  let service: Service
  let proxy: LocalServer
  before(async () => {
    service = await startService('sqlite')
    proxy = await startLocalServer((incoming, outgoing) => {
      const { method, headers } = incoming
      const target = new URL('/v1/mcp', service.url)
      const authorization = `Bearer ${service.admin}`
      const forward = httpRequest(target, { method, headers: { ...headers, authorization } }, (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
        reply.pipe(outgoing)
      })
      forward.on('error', () => outgoing.destroy())
      outgoing.on('close', () => forward.destroy())
      incoming.pipe(forward)
    })
  })
  after(async () => {
    await proxy.close()
    await service.stop()
  })

  for (const revision of REVISIONS) {
    test(revision, async () => {
      const output = await conform(`${proxy.url}/mcp`, revision)
      const failed = [...new Set([...output.matchAll(/^✗ ([\w-]+):/gm)].map(([, name]) => name))].toSorted()
      const passed = new Set([...output.matchAll(/^✓ ([\w-]+):/gm)].map(([, name]) => name))
      const expected = EXPECTED_FAILURES.filter(({ only = revision }) => only === revision)
      assert.deepEqual(failed, expected.flatMap(({ scenarios }) => scenarios).toSorted(), output)
      for (const name of ['tools-list', 'tools-call-simple-text', 'tools-call-error', 'dns-rebinding-protection']) {
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
