/** Where an agent lives unless said otherwise. */
export const AGENT_FILE = 'agent.yaml'
