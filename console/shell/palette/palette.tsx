import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useAgentNames } from '../../lib/agents/agent-names.ts'
import { go } from '../../lib/location.ts'
import { Icon } from '../../ui/icon.tsx'
import { isPaletteOpen } from '../palette-state.ts'
import type { Target } from './commands.ts'
import { findTargets } from './targets.ts'

/** Finds pages and commands by a few letters, and anything with an ID by that ID. */
export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const names = useAgentNames()
  const targets = findTargets(text, names.data?.values() ?? [])
  const chosen = targets[Math.min(at, targets.length - 1)]
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    // The focus is given back only if the dialog is closed before it is removed from the page.
    return () => shown?.close()
  }, [])
  const close = () => {
    isPaletteOpen.value = false
  }
  const follow = (target: Target | undefined) => {
    if (!target) return
    close()
    if (target.to) go(target.to)
    target.run?.()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by) setAt((targets.indexOf(chosen as Target) + by + targets.length) % targets.length)
    else if (event.key === 'Enter') follow(chosen)
    else return
    event.preventDefault()
  }
  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Find"
      onCancel={(event) => {
        event.preventDefault()
        close()
      }}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <label class="palette-field">
        <Icon name="search" />
        <input
          type="text"
          role="combobox"
          aria-label="Search pages, commands and agents, or paste an ID"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={chosen && `target-${targets.indexOf(chosen)}`}
          placeholder="Search pages, commands and agents, or paste an ID"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value)
            setAt(0)
          }}
          onKeyDown={onKeyDown}
        />
      </label>
      <ul id="palette-list" role="listbox" aria-label="Found">
        {targets.map((target, i) => (
          <li
            key={target.id}
            id={`target-${i}`}
            role="option"
            aria-selected={target === chosen}
            onPointerMove={() => setAt(i)}
            onClick={() => follow(target)}
          >
            <Icon name={target.icon} />
            <span>{target.label}</span>
            {target.about && <span class="soft">{target.about}</span>}
          </li>
        ))}
      </ul>
      {targets.length === 0 && <p class="soft">Nothing found.</p>}
    </dialog>
  )
}
