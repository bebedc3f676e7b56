/**
 * Through which door a call came: our own API, a dialect of other clients, the command line on the host, or a schedule.
 */
export const DOORS = ['api', 'openai', 'mcp', 'a2a', 'cli', 'schedule'] as const
export type Door = (typeof DOORS)[number]
