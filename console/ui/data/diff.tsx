import { lineDiff } from '../../lib/text/line-diff.ts'
import { yamlText } from '../../lib/yaml/yaml-text.ts'

const SPOKEN = { '+': 'added', '-': 'removed', ' ': '', '…': '' }

/** The differences between two values, by the lines of their YAML. */
export function Diff({ from, to, label }: { from: unknown; to: unknown; label: string }) {
  const lines = lineDiff(yamlText(from), yamlText(to))
  if (lines.length === 0) return <p class="soft">No changes.</p>
  return (
    <pre class="diff" tabIndex={0} aria-label={label}>
      {lines.map(({ mark, text }, i) => (
        <span key={i} class={SPOKEN[mark]}>
          <span aria-label={SPOKEN[mark] || undefined}>{mark}</span> {text}
          {'\n'}
        </span>
      ))}
    </pre>
  )
}
