/**
 * The channel of a call: our own API, a dialect of other clients, the command line on the host, a schedule, a trigger,
 * the console, or a link that opens a chat.
 */
export const DOORS = ['api', 'openai', 'mcp', 'a2a', 'ag-ui', 'cli', 'schedule', 'trigger', 'console', 'link'] as const
export type Door = (typeof DOORS)[number]
