import type { AgentSpec } from '../spec.ts'

/** Whether an agent's run waits for nothing outside: it has a built-in model, no tools and no delays. */
export function answersAtOnce({ model, tools, script }: Pick<AgentSpec, 'model' | 'tools' | 'script'>): boolean {
  if (!model.startsWith('builtin/') || tools.length > 0) return false
  return model !== 'builtin/script' || !script?.rules.some(({ delay_ms }) => delay_ms)
}
