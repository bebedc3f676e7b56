import type { TestContext } from 'node:test'
import { startLocalServer } from '../outside/local-server.ts'

/** As long as a run and a call of a tool may last. */
const LONGEST_MS = 600_000

/** Agents whose runs are held in a tool until the test lets them continue, however long anything else takes. */
export type HeldRuns = {
  /** The fields of such an agent. Its service must reach this machine: `LOCAL_TOOLS`. */
  agent: object
  /** How many runs have come to the tool. */
  count(): number
  /** Lets all continue, also those that come later. */
  release(): void
}

export async function holdRuns(t: Pick<TestContext, 'after'>, reply = 'done'): Promise<HeldRuns> {
  const released = Promise.withResolvers<void>()
  let count = 0
  const tool = await startLocalServer(async (_request, response) => {
    count += 1
    await released.promise
    response.end('released')
  })
  t.after(async () => {
    released.resolve()
    await tool.close()
  })
  return {
    agent: {
      model: 'builtin/script',
      tools: [{ type: 'http', name: 'hold', url: tool.url, timeout_ms: LONGEST_MS }],
      script: { rules: [{ call: { tool: 'hold', arguments: {} }, reply }] },
      limits: { timeout_ms: LONGEST_MS },
    },
    count: () => count,
    release: released.resolve,
  }
}
