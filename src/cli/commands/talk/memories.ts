import type { Command } from 'commander'
import { counted } from '../../../lib/text/counted.ts'
import type { CommandSpecs } from '../../from-operations/command-spec.ts'
import { addOperations } from '../../from-operations/operation-command.ts'
import { note, print } from '../../terminal/output.ts'
import type { World } from '../../world.ts'
import { addMemoryImport } from './memory-import.ts'

const SCOPE = { user_id: 'only of this user', session_id: 'only of this session' }

const SPECS: CommandSpecs = {
  searchMemory: {
    about: "Search an agent's memory",
    args: ['query...'],
    limit: 10,
    options: { 'context.user_id': SCOPE.user_id, 'context.session_id': SCOPE.session_id, min_score: '0 to 1' },
    columns: {
      of: [
        ['SCORE', ({ score }) => score.toFixed(2)],
        ['BY', ({ matched }) => matched.join(' ')],
        ['KIND', ({ role, kind }) => role ?? kind],
        'user_id',
        'created_at',
        'content',
      ],
    },
  },
  writeMemory: false,
  clearMemory: {
    about: "Clear an agent's memory, or only a user's, a session's or older memories",
    options: { ...SCOPE, before: 'only older memories: a duration such as 30d, or a time' },
    confirm: ({ ref, query }) =>
      `Clear ${Object.keys(query).length === 0 ? 'the whole' : 'this part of the'} memory of ${ref}?`,
    done: ({ deleted }) => `Deleted ${counted(deleted, 'memory', 'memories')}`,
  },
  listMemory: {
    about: "List an agent's memories, most recent first",
    limit: 20,
    options: {
      ...SCOPE,
      before: 'only older memories: a duration such as 30d, or a time',
      after: 'only newer memories: a duration such as 30d, or a time',
    },
    columns: {
      of: ['id', ['KIND', ({ role, kind }) => role ?? kind], 'user_id', 'session_id', 'created_at', 'content'],
    },
  },
  getMemory: {},
  updateMemory: {
    args: ['[content...]'],
    options: { created_at: '--created-at <time>', metadata: 'replaces the metadata' },
    done: ({ id }) => `Updated ${id}`,
  },
  deleteMemory: { confirm: ({ params }) => `Delete the memory ${params['memory_id']} of ${params['agent_id']}?` },
  getSummary: { name: 'summary', about: "Show a session's summary" },
  replaceSummary: {
    name: 'set-summary',
    about: "Replace a session's summary",
    args: ['content...'],
    stdin: true,
    done: 'Replaced the summary of {}',
  },
  deleteSummary: {
    name: 'delete-summary',
    about: "Delete a session's summary. The model writes a new one",
    confirm: ({ params }) => `Delete the summary of the session ${params['session_id']} of ${params['agent_id']}?`,
    done: 'Deleted the summary of {}',
  },
  getMemoryStatus: {
    name: 'status',
    about: 'Show how many memories the embedder has processed',
    json: ({ embedding }) => ({ embedding }),
    show(world, { embedding }) {
      if (!embedding) {
        return note(
          world,
          'No embedder is configured. Search uses keywords and, in English, the meaning of single words.',
        )
      }
      const { model, embedded, waiting } = embedding
      print(world, `${embedded} of ${embedded + waiting} memories are embedded with ${model}`)
    },
  },
}

export function memory(command: Command, world: World): void {
  addOperations(command, world, 'memory', SPECS)
  addMemoryImport(command, world)
}
