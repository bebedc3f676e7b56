import type { ComponentChildren } from 'preact'

/** Each part has a limit, so no text takes long to parse. */
const PARTS = new RegExp(
  [
    String.raw`\\([\\\x60*_{}[\]()#+.!|<>~-])`, // 1: escaped
    String.raw`(?<!\x60)(\x60{1,3})(?!\x60)([^\n]{1,1000}?)(?<!\x60)\2(?!\x60)`, // 2, 3: code
    String.raw`(!?\[([^\]\n]{0,300})\]\(([^()\s]{1,1000}(?:\([^()\s]{0,100}\)[^()\s]{0,300})?)(?:\s"[^"\n]{0,200}")?\))`, // 4, 5, 6: link
    String.raw`\*{3}(?=[^\s*])([^*]{0,600}[^\s*])\*{3}`, // 7: strong and emphasis
    String.raw`\*\*(?=\S)([^]{0,600}?[^\s*])\*\*`, // 8: strong
    String.raw`(?<!\w)__(?=\S)([^]{0,600}?\S)__(?!\w)`, // 9: strong
    String.raw`\*(?=[^\s*])([^*]{0,600}[^\s*]|[^\s*])\*`, // 10: emphasis
    String.raw`(?<!\w)_(?=[^\s_])([^_]{0,600}[^\s_]|[^\s_])_(?!\w)`, // 11: emphasis
    String.raw`~~(?=\S)([^~]{1,600})~~`, // 12: struck out
    String.raw`<?(\bhttps?:\/\/[^\s<>"\x60]{1,1000}[^\s<>"\x60.,;:!?)'*_])>?`, // 13: address
  ].join('|'),
  'g',
)

const SAFE = new Set(['http:', 'https:', 'mailto:'])

/** The text of one block: code, links, emphasis. */
export function Inline({ text, depth = 0 }: { text: string; depth?: number }) {
  const shown: ComponentChildren[] = []
  let end = 0
  for (const match of depth > 4 ? [] : text.matchAll(PARTS)) {
    if (match.index > end) shown.push(text.slice(end, match.index))
    shown.push(partOf(match, depth))
    end = match.index + match[0].length
  }
  shown.push(text.slice(end))
  return <>{shown}</>
}

function partOf(match: RegExpExecArray, depth: number): ComponentChildren {
  const [whole, escaped, , code, , label, target, both, strong, strong2, emphasis, emphasis2, struck, address] = match
  const within = (text: string) => <Inline text={text} depth={depth + 1} />
  if (escaped !== undefined) return escaped
  if (code !== undefined) return <code>{code.trim()}</code>
  if (target !== undefined) return linkTo(target, label?.replaceAll(/\*\*|`/g, '') || target) ?? whole
  if (address !== undefined) return linkTo(address, address) ?? whole
  if (struck !== undefined) return <s>{within(struck)}</s>
  const heavy = both ?? strong ?? strong2
  return heavy === undefined ? (
    <em>{within(emphasis ?? emphasis2 ?? '')}</em>
  ) : (
    <strong>{both ? <em>{within(both)}</em> : within(heavy)}</strong>
  )
}

/**
 * Only URLs that a browser opens without running anything. An image is shown as a link too, so nothing is loaded from
 * elsewhere.
 */
function linkTo(address: string, label: ComponentChildren): ComponentChildren {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || !SAFE.has(url.protocol)) return undefined
  return (
    <a href={url.href} target="_blank" rel="noopener noreferrer nofollow">
      {label}
    </a>
  )
}
