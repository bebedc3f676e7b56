/** The default file of an agent. */
export const AGENT_FILE = 'agent.yaml'
