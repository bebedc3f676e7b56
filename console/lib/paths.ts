/** The path of an agent's tab. The tab may include a query. */
export function agentPath(agent: string, tab = ''): string {
  return `/agents/${encodeURIComponent(agent)}${tab && `/${tab}`}`
}

export function connectionPath(name: string): string {
  return `/connections/${encodeURIComponent(name)}`
}

export function requestPath(request_id: string): string {
  return `/activity/${encodeURIComponent(request_id)}`
}
