import { useEffect, useRef, useState } from 'preact/hooks'
import { param, setParams } from '../location.ts'

/**
 * What is typed for a parameter of the URL. It is written there when the typing pauses, or by `write`, together with
 * `others`. What is typed while the page shows the last text stays.
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
