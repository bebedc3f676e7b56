import { useState } from 'preact/hooks'
import { MoorageError } from '../../../sdk/client.ts'
import { useModelNames } from '../../lib/agents/model-names.ts'
import { useRefusal } from '../../lib/forms/use-refusal.ts'
import { may } from '../../lib/session-state.ts'
import { type ReadYaml, readYaml, YamlError } from '../../lib/yaml/read-yaml.ts'
import { Snippet } from '../../ui/copy.tsx'
import { YamlEditor } from '../../ui/editor/yaml-editor.tsx'
import type { Mark } from '../../ui/editor/yaml-lines.tsx'
import type { DraftOfAgent } from './use-draft.ts'
import { useWords } from './use-words.ts'

/** The whole definition as text. The service checks it as it checks the form. This file is loaded when it is first shown. */
export function DefinitionYaml({ draft, error }: { draft: DraftOfAgent; error: MoorageError | undefined }) {
  const [isTyping, setTyping] = useState(false)
  const words = useWords(isTyping, useModelNames(isTyping))
  const refusal = useRefusal(error, draft.text)
  if (!may('updateAgent')) return <Snippet label="definition" text={draft.text} />
  return (
    <YamlEditor
      label="Definition"
      value={draft.text}
      onInput={(typed) => draft.setText(typed, whatSays(typed))}
      marks={marksOf(draft.text, refusal)}
      wordsAt={words}
      onFocus={() => setTyping(true)}
    />
  )
}

/** What a definition in YAML says. Throws if it says nothing that could be one. */
function readDefinition(text: string): ReadYaml & { value: object } {
  const { value, lines } = readYaml(text)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value, lines }
  throw new MoorageError('invalid_request', 'A definition has fields, each with its name and a colon')
}

function whatSays(text: string): object | undefined {
  try {
    return readDefinition(text).value
  } catch {
    return undefined
  }
}

/** What is wrong, at its line: what cannot be read, or else what the service objected to. */
function marksOf(text: string, error: MoorageError | undefined): Mark[] {
  try {
    const { lines } = readDefinition(text)
    return (error?.details ?? []).map(({ field, error: message }) => ({ line: lineOf(field, lines), message }))
  } catch (problem) {
    const { message } = problem as Error
    return [{ line: problem instanceof YamlError ? problem.line : 1, message }]
  }
}

/** The line of the field, or of what it would belong to. */
function lineOf(field: string, lines: ReadonlyMap<string, number>): number {
  const parts = field.split('.')
  for (; parts.length > 0; parts.pop()) {
    const line = lines.get(parts.join('.'))
    if (line) return line
  }
  return 1
}
