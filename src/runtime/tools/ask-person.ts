import type { PersonTool } from '../spec.ts'
import { type RunTool, ToolError } from './tool.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    question: { type: 'string', minLength: 1, maxLength: 10_000 },
    options: { type: 'array', items: { type: 'string' }, maxItems: 20, description: 'Answers to choose from, if any' },
  },
  required: ['question'],
  additionalProperties: false,
}

/** Asks a person. This tool is never called: the run waits, and the person's answer is the result. */
export function askPerson({ name, description, expires_after_seconds }: PersonTool): RunTool {
  return {
    definition: { name, description, input_schema: INPUT_SCHEMA },
    retry: 'safe',
    approval: { when: 'always', expires_after_seconds },
    isQuestion: true,
    call: async () => {
      throw new ToolError('No person was asked')
    },
  }
}
