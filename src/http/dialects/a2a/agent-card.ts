import type { AgentCard } from '@a2a-js/sdk'
import { notFound } from '../../../errors.ts'
import type { CallRunner } from '../dialect.ts'

const PROTOCOL_VERSION = '1.0'
const TEXT = 'text/plain'

/** What other agents read about this one before they call it. */
export function agentCard({ agent, url }: Pick<CallRunner, 'agent' | 'url'>): AgentCard {
  if (!agent) throw notFound('Agent', '')
  const { id, name } = agent
  const description = agent.description || `The agent ${name}`
  return {
    name,
    description,
    version: '1',
    provider: undefined,
    supportedInterfaces: [
      { url: `${url}/v1/agents/${id}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: PROTOCOL_VERSION, tenant: '' },
    ],
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: false, extensions: [] },
    securitySchemes: {
      key: {
        scheme: {
          $case: 'httpAuthSecurityScheme',
          value: { scheme: 'Bearer', bearerFormat: '', description: 'An API key with the permission `invoke`' },
        },
      },
    },
    securityRequirements: [{ schemes: { key: { list: [] } } }],
    defaultInputModes: [TEXT],
    defaultOutputModes: [TEXT],
    skills: [
      {
        id: name,
        name,
        description,
        tags: [],
        examples: [],
        inputModes: [],
        outputModes: [],
        securityRequirements: [],
      },
    ],
    signatures: [],
  }
}
