import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** Something said or noted, in the form of `POST …/memory`, without its owner. */
export type StoryMemory = {
  content: string
  kind: 'turn' | 'note' | 'fact'
  role: 'user' | 'assistant' | null
  session: string
  created_at: number
}

/** `answers` are contents, one of which should be found. */
export type StoryQuestion = { question: string; answers: string[] }

export type Story = { name: string; style: string; now: number; said: StoryMemory[]; questions: StoryQuestion[] }

const FOLDER = join(import.meta.dirname, '../../fixtures/memory')
const MINUTE = 60_000

/** The conversations in test/fixtures/memory with the questions about them. Its README explains the format. */
export function readStories(): Story[] {
  return globSync('*.txt', { cwd: FOLDER })
    .toSorted()
    .map((file) => readStory(basename(file, '.txt'), readFileSync(join(FOLDER, file), 'utf8')))
}

function readStory(name: string, text: string): Story {
  const [told, asked] = text.split('\n---\n')
  assert.ok(told !== undefined && asked !== undefined, `${name} has no line --- before its questions`)
  const [head, ...sessions] = told.split('\n@ ')
  const header = (field: string) => {
    const value = new RegExp(`^${field}: (.*)$`, 'm').exec(head as string)?.[1]
    assert.ok(value, `${name} has no ${field}`)
    return value
  }
  const said = sessions.flatMap((session) => readSession(name, session))
  return {
    name,
    style: header('style'),
    now: Date.parse(header('now')),
    said,
    questions: readQuestions(name, asked, said),
  }
}

/** Its first line is when it began. Each further line came a minute later. */
function readSession(name: string, text: string): StoryMemory[] {
  const [began = '', ...lines] = text.trimEnd().split('\n')
  const start = Date.parse(`${began.replace(' ', 'T')}:00Z`)
  assert.ok(Number.isFinite(start), `${name}: ${began} is not a time`)
  const speakers: string[] = []
  return lines.map((line, i) => {
    const [, mark = '', words = ''] = /^([^:：]+)[:：]\s*(.*)$/.exec(line) ?? []
    assert.ok(words, `${name}: this line has no speaker: ${line}`)
    const at = { session: `${name} ${began}`, created_at: start + i * MINUTE }
    if (mark === 'note' || mark === 'fact') return { ...at, content: words, kind: mark, role: null }
    if (mark === 'user' || mark === 'assistant') return { ...at, content: words, kind: 'turn', role: mark }
    if (!speakers.includes(mark)) speakers.push(mark)
    return { ...at, content: line, kind: 'turn', role: mark === speakers[0] ? 'user' : 'assistant' }
  })
}

function readQuestions(name: string, text: string, said: StoryMemory[]): StoryQuestion[] {
  const blocks = text.split(/^\? /m).slice(1)
  return blocks.map((block) => {
    const [question = '', ...lines] = block.trim().split('\n')
    const answers = lines.map((line) => {
      const fits = said.filter(({ content }) => content.includes(line.slice(2)))
      assert.equal(fits.length, 1, `${name}: ${fits.length} have "${line.slice(2)}"`)
      return (fits[0] as StoryMemory).content
    })
    assert.ok(answers.length > 0, `${name}: no answer to ${question}`)
    return { question, answers }
  })
}
