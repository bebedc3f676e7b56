/** One name, or several in the order in which they are asked. */
export type ModelNames = string | readonly string[]

export function namesOf(model: ModelNames): readonly string[] {
  return typeof model === 'string' ? [model] : model
}

/** The one that is asked first. */
export function firstName(model: ModelNames): string {
  return namesOf(model)[0] ?? ''
}

/** `provider/id`. Without a slash there is no provider. */
export function splitModelName(model: string): { provider: string; id: string } {
  const slash = model.indexOf('/')
  return { provider: model.slice(0, Math.max(0, slash)), id: model.slice(slash + 1) }
}
