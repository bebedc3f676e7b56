import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { AgentRun } from '../../../sdk/client.ts'
import type { ModelReply } from '../outside/model-server.ts'
import { childEnv, startChild } from '../service/child.ts'

// One agent in three forms: as data with a model, and as a remote program in TypeScript and in Python that asks the
// same model for the same things. It refunds orders, asks a person, remembers what it was told, and fails when its
// model does.

export const FORMS = ['data', 'typescript', 'python'] as const

const QUESTION = { question: 'Which berth?' }
const REFUND = { order: 'A-1', amount: 1 }

type CompletionRequest = { messages: { role: string; content: string | null }[]; tools?: unknown }

/** What the model says. A program that asks it provides no tools, and sends tools' results as messages. */
export function thinkSame({ messages, tools }: CompletionRequest): ModelReply {
  const { role, content } = messages.at(-1) ?? { role: '', content: '' }
  const words = content ?? ''
  if (role === 'tool') return { text: ['Said: ', words] }
  if (words.startsWith('Result: ')) return { text: ['Said: ', words.slice('Result: '.length)] }
  if (words.startsWith('fail')) return { status: 400, body: { error: { message: 'no such model' } } }
  if (words.startsWith('refund'))
    return tools ? { calls: [{ name: 'refund', arguments: REFUND }] } : { text: ['refund'] }
  if (words.startsWith('ask'))
    return tools ? { calls: [{ name: 'ask_person', arguments: QUESTION }] } : { text: ['ask'] }
  if (words.endsWith('Which boat is mine?')) {
    const known = messages.some((one) => one.content?.includes('Aurora'))
    return { text: [known ? 'Aurora, ' : 'None, ', 'captain.'] }
  }
  return { text: ['Aye, ', 'captain.'] }
}

/** The same as `answer` in Python below. */
export async function answerSame(run: AgentRun): Promise<string> {
  const { message, history } = run
  const instructions = run.recalled.map(({ content }) => content).join('\n')
  const plan = await run.askModel('plan', { message, history, instructions })
  if (plan !== 'refund' && plan !== 'ask') return String(plan)
  const asked = plan === 'ask' ? run.askPerson('call_1', QUESTION.question) : run.tool('call_1', 'refund', REFUND)
  const result = await asked.catch((error: Error) => error.message)
  return String(await run.askModel('words', { message: `Result: ${result}` }))
}

const IN_PYTHON = `from moorage import StepError, serve
import os
def answer(run):
    instructions = '\\n'.join(memory['content'] for memory in run.recalled)
    plan = run.ask_model('plan', run.message, history=run.history, instructions=instructions)
    if plan not in ('refund', 'ask'):
        return plan
    try:
        if plan == 'ask':
            result = run.ask_person('call_1', 'Which berth?')
        else:
            result = run.tool('call_1', 'refund', {'order': 'A-1', 'amount': 1})
    except StepError as error:
        result = error
    return run.ask_model('words', f'Result: {result}')
serve(answer, os.environ['AGENT_SECRET'], port=0)`

/** Starts the Python program in its own process. */
export async function startInPython(secret: string): Promise<{ url: string; close(): Promise<void> }> {
  const folder = fileURLToPath(new URL('../../../python/', import.meta.url))
  const env = { ...childEnv(), AGENT_SECRET: secret, PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' }
  const child = startChild('python3', ['-c', IN_PYTHON], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  child.stderr.on('data', (piece) => (said += piece))
  const gone = once(child, 'exit')
  const [told] = await Promise.race([once(child.stdout, 'data'), gone])
  const port = /port: (\d+)/.exec(String(told))?.[1]
  if (port === undefined) throw new Error(`the agent in Python did not start: ${said}`)
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      child.kill()
      await gone
    },
  }
}
