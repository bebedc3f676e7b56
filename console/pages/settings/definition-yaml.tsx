import { useState } from 'preact/hooks'
import type { MoorageError } from '../../../sdk/client.ts'
import { useModelNames } from '../../lib/agents/model-names.ts'
import { useRefusal } from '../../lib/forms/use-refusal.ts'
import { may } from '../../lib/session-state.ts'
import { type ReadYaml, readYaml, YamlError } from '../../lib/yaml/read-yaml.ts'
import { Snippet } from '../../ui/copy.tsx'
import { YamlEditor } from '../../ui/editor/yaml-editor.tsx'
import type { Mark } from '../../ui/editor/yaml-lines.tsx'
import type { DraftOfAgent } from './use-draft.ts'
import { useWords } from './use-words.ts'

/**
 * The whole definition as text. The service checks it as it checks the form. This file is loaded when it is first
 * shown.
 */
export function DefinitionYaml({ draft, error }: { draft: DraftOfAgent; error: MoorageError | undefined }) {
  const [isTyping, setTyping] = useState(false)
  const [read] = useState(definitionReader)
  const words = useWords(isTyping, useModelNames(isTyping))
  const refusal = useRefusal(error, draft.text)
  if (!may('updateAgent')) return <Snippet label="definition" text={draft.text} />
  return (
    <YamlEditor
      label="Definition"
      value={draft.text}
      onInput={(typed) => draft.setText(typed, read(typed).said)}
      marks={marksOf(read(draft.text), refusal)}
      wordsAt={words}
      onFocus={() => setTyping(true)}
    />
  )
}

type YamlReading = { said: object; lines: ReadYaml['lines'] } | { said?: undefined; problem: Mark }

/** Reads definitions in YAML. A long one takes a moment, so the last result is cached. */
function definitionReader(): (text: string) => YamlReading {
  let last: { text: string; reading: YamlReading } | undefined
  return (text) => {
    if (last?.text !== text) last = { text, reading: readDefinition(text) }
    return last.reading
  }
}

function readDefinition(text: string): YamlReading {
  try {
    const { value, lines } = readYaml(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { said: value, lines }
    return { problem: { line: 1, message: 'Write the definition as fields: a name, a colon and a value' } }
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    return { problem: { line: error.line, message: error.message } }
  }
}

/** The errors and their lines: syntax errors, or else what the service objected to. */
function marksOf(reading: YamlReading, error: MoorageError | undefined): Mark[] {
  if (!reading.said) return [reading.problem]
  return (error?.details ?? []).map(({ field, error: message }) => ({ line: lineOf(field, reading.lines), message }))
}

/** The line of the field, or of what the field would belong to. */
function lineOf(field: string, lines: ReadonlyMap<string, number>): number {
  const parts = field.split('.')
  for (; parts.length > 0; parts.pop()) {
    const line = lines.get(parts.join('.'))
    if (line) return line
  }
  return 1
}
