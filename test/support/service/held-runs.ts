import type { TestContext } from 'node:test'
import { startLocalServer } from '../outside/local-server.ts'

/** The longest time that a run and a tool call can take. */
const LONGEST_MS = 600_000

/** Agents whose runs stop in a tool until the test lets them continue, no matter how long anything else takes. */
export type HeldRuns = {
  /** The fields of such an agent. Its service must be able to reach this machine (`LOCAL_TOOLS`). */
  agent: { tools: object[]; limits: object; script: { rules: object[] }; model: string }
  /** How many runs have reached the tool. */
  count(): number
  /** Lets all continue, including later ones. */
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
