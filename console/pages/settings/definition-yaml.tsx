import { useState } from 'preact/hooks'
import type { MoorageError } from '../../../sdk/client.ts'
import { useModelNames } from '../../lib/agents/model-names.ts'
import { may } from '../../lib/session-state.ts'
import { YamlError } from '../../lib/yaml/yaml-scalar.ts'
import { Snippet } from '../../ui/copy.tsx'
import { YamlEditor } from '../../ui/editor/yaml-editor.tsx'
import type { Mark } from '../../ui/editor/yaml-lines.tsx'
import { readDefinition } from './definition.ts'
import type { DraftOfAgent } from './use-draft.ts'
import { useWords } from './use-words.ts'

/** The whole definition as text. The service checks it as it checks the form. */
export function DefinitionYaml({ draft, error }: { draft: DraftOfAgent; error: MoorageError | undefined }) {
  const [isTyping, setTyping] = useState(false)
  const words = useWords(isTyping, useModelNames(isTyping))
  if (!may('updateAgent')) return <Snippet label="definition" text={draft.text} />
  return (
    <YamlEditor
      label="Definition"
      value={draft.text}
      onInput={draft.setText}
      marks={marksOf(draft.text, error)}
      wordsAt={words}
      onFocus={() => setTyping(true)}
    />
  )
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
