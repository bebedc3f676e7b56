import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openApiDocument } from '../../src/http/reference/openapi.ts'
import { operationsOf } from '../../src/http/reference/openapi-document.ts'
import { referencePage } from '../../src/http/reference/reference-page.ts'
import { lazilyInTurn, PARTS_OF_MCP, PARTS_OF_UNDICI } from '../../src/lib/lazily.ts'
import { operations } from '../../src/operations.ts'

/** How many turns the event loop made while the work continued. */
async function passesOf(work: () => Promise<unknown>): Promise<number> {
  let [passes, isDone] = [0, false]
  const look = () => {
    passes++
    if (!isDone) setImmediate(look)
  }
  setImmediate(look)
  await work().finally(() => (isDone = true))
  return passes
}

describe('creating or loading something on first use does not block other requests', () => {
  test('the OpenAPI document and the reference, between their operations', async () => {
    assert.ok((await passesOf(() => openApiDocument(operations))) >= operations.length)
    const document = await openApiDocument(operations)
    const { length } = operationsOf(document)
    assert.ok((await passesOf(() => referencePage(document, { hasConsole: true }))) >= length)
  })

  for (const [name, parts] of Object.entries({
    undici: PARTS_OF_UNDICI,
    '@modelcontextprotocol/client': PARTS_OF_MCP,
    '@modelcontextprotocol/server': PARTS_OF_MCP,
  })) {
    test(`${name}, between its parts, each of which there is`, async () => {
      for (const part of parts) await import(part)
      const load = lazilyInTurn(...parts, name)
      assert.ok((await passesOf(load)) >= parts.length)
      assert.equal(await load(), await import(name))
    })
  }
})
