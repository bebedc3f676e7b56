import { Icon } from '../icon.tsx'

/** A score, with a thumb if it is good or bad. */
export function Score({ value }: { value: number }) {
  const isWhole = Math.abs(value) === 1
  return (
    <span class="score">
      {value !== 0 && <Icon name={value > 0 ? 'good' : 'bad'} />}
      {isWhole ? (value > 0 ? 'good' : 'bad') : value}
    </span>
  )
}
