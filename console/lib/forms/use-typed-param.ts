import { useEffect, useRef, useState } from 'preact/hooks'
import { param, setParams } from '../location.ts'

/**
 * The text in a field for a URL parameter. It is written to the URL when the typing pauses, or by `write` together with
 * `others`. Text that is typed while the page still shows the previous text is kept.
 */
export function useTypedParam(
  name: string,
  pauseMs: number,
  others: Parameters<typeof setParams>[0] = {},
): [text: string, setText: (text: string) => void, write: () => void] {
  const inUrl = param(name) ?? ''
  const [text, setText] = useState(inUrl)
  const written = useRef(inUrl)
  useEffect(() => {
    if (inUrl === written.current) return
    written.current = inUrl
    setText(inUrl)
  }, [inUrl])
  const write = () => {
    if (text === inUrl) return
    written.current = text
    setParams({ [name]: text, ...others })
  }
  useEffect(() => {
    if (text === inUrl) return
    const timer = setTimeout(write, pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  return [text, setText, write]
}
