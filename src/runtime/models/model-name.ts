/** `provider/id`. Without a slash there is no provider. */
export function splitModelName(model: string): { provider: string; id: string } {
  const slash = model.indexOf('/')
  return { provider: model.slice(0, Math.max(0, slash)), id: model.slice(slash + 1) }
}
