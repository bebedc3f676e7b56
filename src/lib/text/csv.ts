/** CSV (RFC 4180) with a header line. Without `names`, the first row's fields are the columns. */
export function csvOf(rows: readonly object[], names: readonly string[] = Object.keys(rows[0] ?? {})): string {
  const lines = [names, ...rows.map((row) => names.map((name) => (row as Record<string, unknown>)[name]))]
  return lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('')
}

/** A spreadsheet would execute text that looks like a formula, so a quote is added before it. */
function cell(value: unknown): string {
  const text = String(value ?? '')
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
