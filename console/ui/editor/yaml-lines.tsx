import { Fragment } from 'preact'

/** An error in a line. Lines are counted from 1. */
export type Mark = { line: number; message: string }

const PARTS =
  /(^\s*(?:- +)*)(?:("(?:[^"\\]|\\.)*"|'[^']*'|[^\s#'"][^#:]*?)(:)(?=\s|$))?|(#.*$)|("(?:[^"\\]|\\.)*"?|'[^']*'?)|(\b(?:true|false|null)\b|(?<![\w./-])-?\d+(?:\.\d+)?(?![\w./-]))|(\{\{?[\w. ]+\}?\})|[^#"'{\d\w]+|\w+|./gm

/** The same text with colors, behind the field in which it is typed. */
export function YamlLines({ text, marks }: { text: string; marks: readonly Mark[] }) {
  const blocks = blockLines(text.split('\n'))
  return (
    <pre aria-hidden="true">
      {blocks.map(({ line, isText }, i) => (
        <Fragment key={i}>
          <span class={marks.some((mark) => mark.line === i + 1) ? 'y-line y-bad' : 'y-line'}>
            {isText ? <i class="y-said">{line}</i> : coloured(line)}
          </span>
          {'\n'}
        </Fragment>
      ))}
    </pre>
  )
}

/** Which lines belong to a text that starts with `|` or `>`. */
function blockLines(lines: readonly string[]): { line: string; isText: boolean }[] {
  let indent = -1
  return lines.map((line) => {
    const own = line.search(/\S/)
    if (indent >= 0 && own >= 0 && own <= indent) indent = -1
    const isText = indent >= 0
    if (!isText && /[:-] +[|>][-+\d]*\s*$/.test(line)) indent = own
    return { line, isText }
  })
}

function coloured(line: string) {
  return [...line.matchAll(PARTS)].map(([all, lead, name, colon, comment, quoted, value, filled], i) => {
    if (name !== undefined)
      return (
        <Fragment key={i}>
          {lead}
          <i class="y-name">{name}</i>
          {colon}
        </Fragment>
      )
    const kind = comment ? 'y-comment' : quoted ? 'y-said' : value ? 'y-value' : filled ? 'y-filled' : undefined
    return kind ? (
      <i key={i} class={kind}>
        {all}
      </i>
    ) : (
      all
    )
  })
}
