import type { Invoke } from '../../../sdk/client.ts'
import { BASE } from '../../lib/base.ts'
import { namedProject } from '../../lib/projects/chosen-project.ts'
import { asCurl, asTypeScript, literal } from '../../ui/api-call.tsx'

/** The same call as code. */
export function asCode(language: string, agent: string, body: Invoke): string {
  const request = { operation: 'invokeAgent' as const, method: 'agents.invoke', params: { agent_id: agent }, body }
  if (language === 'curl') return asCurl(request)
  return language === 'ts' ? asTypeScript(request) : asPython(agent, body)
}

function asPython(agent: string, body: Invoke): string {
  const project = namedProject.value ? `, 'Moorage-Project': ${literal(namedProject.value)}` : ''
  return `import os, requests

reply = requests.post(
    ${literal(`${BASE.href}v1/agents/${encodeURIComponent(agent)}/invoke`)},
    headers={'Authorization': 'Bearer ' + os.environ['MOORAGE_API_KEY']${project}},
    json=${JSON.stringify(body, null, 4).replaceAll('\n', '\n    ')},
)
print(reply.json()['data']['response'])`
}
