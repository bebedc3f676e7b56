import { setTimeout as sleep } from 'node:timers/promises'
import type { Script, ScriptRule } from '../spec.ts'
import { inputTokens, ready, speak, textOf } from './builtin.ts'
import { estimateTokens, type ModelAnswer, ModelFailure } from './model.ts'
import type { Model, ModelPrompt, ModelRequest } from './model-request.ts'

const NO_SCRIPT: Script = { rules: [], fallback: 'This agent has no script yet.' }

/** Plays the rules of the agent's `script`: the first rule that matches the message answers. */
export const script: Model = {
  isBuiltin: true,
  prepare: (prompt) => ready(prompt, (request) => play(prompt, request)),
}

async function play(prompt: ModelPrompt, request: ModelRequest): Promise<ModelAnswer> {
  const { rules, fallback } = prompt.input.agent.script ?? NO_SCRIPT
  const rule = rules.find(({ match }) => fits(match, prompt.input.message))
  if (!rule) return speak(prompt, request, fill(fallback, prompt))

  const isFirst = prompt.rounds.length === 0
  if (isFirst && rule.delay_ms) await sleep(rule.delay_ms, undefined, { signal: request.deadline.signal })
  if (isFirst && rule.call) return callTool(rule.call, prompt, request)
  if (rule.fail) throw new ModelFailure(rule.fail)
  if (rule.output !== undefined) return speak(prompt, request, filledJson(rule.output, prompt))
  return speak(prompt, request, fill(rule.reply ?? '{{result}}', prompt))
}

function fits(match: ScriptRule['match'], message: string): boolean {
  if (!match) return true
  const said = message.trim().toLowerCase()
  if (match.equals !== undefined) return said === match.equals.trim().toLowerCase()
  if (match.contains !== undefined) return said.includes(match.contains.toLowerCase())
  return match.starts_with !== undefined && said.startsWith(match.starts_with.trimStart().toLowerCase())
}

function callTool(call: NonNullable<ScriptRule['call']>, prompt: ModelPrompt, request: ModelRequest): ModelAnswer {
  const args = filledJson(call.arguments, prompt)
  request.spend({ input_tokens: inputTokens(prompt), output_tokens: estimateTokens(args.length) })
  return { calls: [{ id: 'call_1', name: call.tool, arguments: args }], finish: 'stop' }
}

function filledJson(value: unknown, prompt: ModelPrompt): string {
  return JSON.stringify(value, (_key, inner: unknown) => (typeof inner === 'string' ? fill(inner, prompt) : inner))
}

/** Replaces all placeholders in one pass, so a placeholder inside the message stays text. */
function fill(template: string, { input, rounds }: ModelPrompt): string {
  return template.replace(/\{\{\s*(message|user_id|session_id|result)\s*\}\}/g, (_whole, name: string) => {
    if (name === 'message') return input.message
    if (name === 'user_id') return input.context.user_id ?? ''
    if (name === 'session_id') return input.context.session_id ?? ''
    return textOf(rounds.at(-1)?.results[0])
  })
}
