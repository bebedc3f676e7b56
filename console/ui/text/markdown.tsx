import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { type Block, blocksOf } from '../../lib/text/markdown.ts'
import { Snippet } from '../copy.tsx'
import { Inline } from './inline.tsx'

/** Longer texts are shown as they are, because parsing them again with every piece of an answer would take too long. */
const LONGEST = 60_000

/**
 * A model's text with its markdown rendered. It is made of elements and never of HTML, so whatever the text contains
 * stays text. `below` is the level of the heading above it.
 */
export function Markdown({ text, isPlain, below = 2 }: { text: string; isPlain?: boolean; below?: 1 | 2 }) {
  const isWritten = isPlain || text.length > LONGEST
  const blocks = useMemo(() => (isWritten ? [] : inOrder(blocksOf(text), below)), [text, isWritten, below])
  if (isWritten) return <p class="text">{text}</p>
  return <div class="markdown">{blocks.map(shown)}</div>
}

/** Headings must not skip a level, whatever the model writes, because people who can't see move by them. */
function inOrder(blocks: readonly Block[], below: number): Block[] {
  let last = below
  const placed = (block: Block): Block => {
    if (block.kind === 'quote') return { ...block, blocks: block.blocks.map(placed) }
    if (block.kind === 'list') return { ...block, items: block.items.map((item) => item.map(placed)) }
    if (block.kind !== 'heading') return block
    last = Math.min(6, block.level + below, last + 1)
    return { ...block, level: last }
  }
  return blocks.map(placed)
}

function shown(block: Block, key: number): ComponentChildren {
  switch (block.kind) {
    case 'rule':
      return <hr key={key} />
    case 'code':
      return <Snippet key={key} label={block.language || 'code'} text={block.text} />
    case 'quote':
      return <blockquote key={key}>{block.blocks.map(shown)}</blockquote>
    case 'list': {
      const items = block.items.map((item, i) => <li key={i}>{item.map(shown)}</li>)
      return block.start === undefined ? (
        <ul key={key}>{items}</ul>
      ) : (
        <ol key={key} start={block.start}>
          {items}
        </ol>
      )
    }
    case 'table':
      return <MarkdownTable key={key} {...block} />
    case 'heading': {
      const Heading = `h${block.level}` as 'h3'
      return (
        <Heading key={key}>
          <Inline text={block.text} />
        </Heading>
      )
    }
    default:
      return (
        <p key={key}>
          <Inline text={block.text} />
        </p>
      )
  }
}

function MarkdownTable({ head, rows }: { head: string[]; rows: string[][] }) {
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Table in the answer">
      <table>
        <thead>
          <tr>
            {head.map((cell, i) => (
              <th key={i} scope="col">
                <Inline text={cell} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={i}>
              {row.map((cell, at) => (
                <td key={at}>
                  <Inline text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
