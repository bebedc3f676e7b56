/** The default file name of an agent. */
export const AGENT_FILE = 'agent.yaml'
