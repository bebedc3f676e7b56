/** What a custom property is at the moment. A canvas does not know the words of a style sheet, such as `light-dark`. */
export function colorOf(host: HTMLElement, property: string): string {
  const probe = document.createElement('i')
  probe.style.color = `var(${property})`
  host.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
