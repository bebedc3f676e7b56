/** Each path is drawn in a 16 × 16 square, with lines in the text's color. */
const PATHS = {
  agents:
    'M8 1.8v2M3.5 3.8h9a1.5 1.5 0 0 1 1.5 1.5v6a1.5 1.5 0 0 1-1.5 1.5h-9A1.5 1.5 0 0 1 2 11.3v-6a1.5 1.5 0 0 1 1.5-1.5ZM5.7 7.3v1.4M10.3 7.3v1.4',
  activity: 'M1.5 8h2.8l2-5 3.4 10 2-5h2.8',
  approvals: 'M8 1.5 13 3.4v4c0 3.3-2 5.7-5 7.1-3-1.4-5-3.8-5-7.1v-4ZM5.7 7.8l1.7 1.7 3-3.2',
  feedback: 'M2 2.8h12v8.4H7.4L4.4 14v-2.8H2ZM5 6h6M5 8.4h4',
  good: 'M5 7.5v6H2.5v-6ZM5 7.5l2.6-5.2c1 0 1.7.8 1.7 1.8v2h3.4a1.2 1.2 0 0 1 1.2 1.4l-.8 4.8a1.4 1.4 0 0 1-1.4 1.2H5',
  bad: 'M5 8.5v-6H2.5v6ZM5 8.5l2.6 5.2c1 0 1.7-.8 1.7-1.8v-2h3.4a1.2 1.2 0 0 0 1.2-1.4l-.8-4.8a1.4 1.4 0 0 0-1.4-1.2H5',
  webhooks: 'M2 8h8.5M7.5 5l3 3-3 3M13.5 2.8v10.4',
  keys: 'M10.2 9.3a3.6 3.6 0 1 0-3.4-2.5L2 11.6V14h2.6v-1.7h1.7v-1.7h1.5l.6-.6M10.9 5.2h.01',
  applications: 'M2.5 2.5H7V7H2.5ZM9 2.5h4.5V7H9ZM2.5 9H7v4.5H2.5ZM9 9h4.5v4.5H9Z',
  projects: 'M2 4.2h4l1.3 1.6H14v7H2ZM2 8.2h12',
  person: 'M8 2a2.8 2.8 0 1 1 0 5.6A2.8 2.8 0 0 1 8 2ZM2.8 14c.3-2.6 2.4-4.2 5.2-4.2s4.9 1.6 5.2 4.2',
  people:
    'M6 2.5a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8ZM1.5 13c.3-2.4 2-3.8 4.5-3.8s4.2 1.4 4.5 3.8M10.5 2.8a2.2 2.2 0 0 1 0 4.2M12 9.5c1.4.5 2.3 1.7 2.5 3.5',
  system: 'M2.5 3h11v4h-11ZM2.5 9h11v4h-11ZM5 5h.01M5 11h.01',
  connections: 'M5.5 1.8v3M10.5 1.8v3M3.5 4.8h9v2.7a4.5 4.5 0 0 1-9 0ZM8 12v2.5',
  usage: 'M2 13.5h12M4 11V8.5M8 11V3M12 11V6',
  files: 'M4 1.8h5l3.2 3.2v9.2H4ZM9 1.8V5h3.2M6 8h4.2M6 10.8h4.2',
  clip: 'M12.8 7.2 7.6 12.4a3 3 0 0 1-4.3-4.3l5.8-5.7a2 2 0 0 1 2.9 2.8L6.3 10.9a1 1 0 0 1-1.5-1.4l4.8-4.8',
  docs: 'M3 2.5h4.2L8 3.6l.8-1.1H13v10H8.9L8 13.6l-.9-1.1H3ZM8 3.6v10',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.5 10.5 14 14',
  copy: 'M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3',
  check: 'm3 8.5 3.2 3.2L13 4.8',
  close: 'm4 4 8 8M12 4l-8 8',
  plus: 'M8 3v10M3 8h10',
  send: 'M8 13V3M3.8 7.2 8 3l4.2 4.2',
  stop: 'M4 4h8v8H4Z',
  retry: 'M13 8a5 5 0 1 1-1.6-3.7M13 2.2v2.9h-2.9',
  undo: 'M6 3 2.8 6.2 6 9.4M3 6.2h6.2a3.6 3.6 0 0 1 0 7.2H6',
  code: 'm5 4.5-3.5 3.5L5 11.5M11 4.5l3.5 3.5-3.5 3.5',
  out: 'M6 2.5H3v11h3M7 8h7M11 5l3 3-3 3',
  left: 'm10 3-5 5 5 5',
  right: 'm6 3 5 5-5 5',
  down: 'm3 6 5 5 5-5',
  up: 'm3 10 5-5 5 5',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2v9.6L12.6 8Z',
  download: 'M8 2v8M4.5 6.8 8 10.3l3.5-3.5M2.5 13.5h11',
  clock: 'M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2ZM8 5v3.2l2 1.4',
  warning: 'M8 2.2 14.6 13.5H1.4ZM8 6.6v3M8 11.6h.01',
  edit: 'm10.6 2.8 2.6 2.6-7.8 7.8-3.2.6.6-3.2Z',
  theme: 'M8 2.2a5.8 5.8 0 1 1 0 11.6ZM8 2.2a5.8 5.8 0 1 0 0 11.6',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
