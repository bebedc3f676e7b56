export function Anchor() {
  return (
    <svg class="anchor" viewBox="0 0 32 32" aria-hidden="true">
      <circle cx="16" cy="8" r="2.6" />
      <path d="M16 10.6V25M10.5 14.5h11M7 18.5C7.4 22.8 11 25.6 16 25.6s8.6-2.8 9-7.1" />
    </svg>
  )
}
