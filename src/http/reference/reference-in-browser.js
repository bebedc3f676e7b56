const $ = (id) => document.getElementById(id)

// ---- the service's own URL in every sample
const address = new URL('.', location.href).href.replace(/\/$/, '')
for (const place of document.querySelectorAll('[data-origin]')) place.textContent = address

// ---- on a phone, the list of operations stays closed until it is opened
const list = document.querySelector('aside details')
if (matchMedia('(max-width: 760px)').matches) list.open = false
list.addEventListener('click', (event) => {
  if (event.target.closest('a') && matchMedia('(max-width: 760px)').matches) list.open = false
})

// ---- copying
for (const block of document.querySelectorAll('[data-copy]')) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await copy(block.querySelector('code').textContent)
    button.textContent = 'Copied'
    setTimeout(() => (button.textContent = 'Copy'), 1200)
  })
  block.append(button)
}

async function copy(text) {
  // The clipboard needs a secure context, which a service on a plain http URL doesn't have.
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

// ---- light and dark
const theme = $('theme')
theme.hidden = false
apply(localStorage.getItem('theme'))
theme.addEventListener('click', () => {
  const isDark = getComputedStyle(document.documentElement).getPropertyValue('--is-dark').trim() === '1'
  apply(isDark ? 'light' : 'dark')
})

function apply(name) {
  if (!name) return
  document.documentElement.dataset.theme = name
  localStorage.setItem('theme', name)
}

// ---- search
const search = $('search')
search.hidden = false
search.addEventListener('input', () => {
  if (search.value) list.open = true
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
  let found = 0
  for (const link of document.querySelectorAll('nav a[data-find]')) {
    const fits = words.every((word) => link.dataset.find.includes(word))
    link.hidden = !fits
    document.getElementById(link.hash.slice(1)).hidden = !fits
    if (fits) found++
  }
  for (const group of document.querySelectorAll('nav section, main .group')) {
    group.hidden = !group.querySelector('a[data-find]:not([hidden]), article:not([hidden])')
  }
  $('top').hidden = words.length > 0
  $('nothing').hidden = found > 0
})
addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== search) {
    event.preventDefault()
    search.focus()
  }
  if (event.key === 'Escape' && document.activeElement === search) {
    search.value = ''
    search.dispatchEvent(new Event('input'))
    search.blur()
  }
})

// ---- the reader's position
const links = new Map([...document.querySelectorAll('nav a')].map((link) => [link.hash.slice(1), link]))
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue
      for (const link of links.values()) link.removeAttribute('aria-current')
      const link = links.get(target.id)
      link?.setAttribute('aria-current', 'true')
      if (link) reveal(link)
    }
  },
  { rootMargin: '-10% 0px -80% 0px' },
)
for (const place of document.querySelectorAll('article, #top')) watcher.observe(place)

/** Scrolls the list beside the text, never the page. */
function reveal(link) {
  const side = document.querySelector('aside')
  if (getComputedStyle(side).position !== 'sticky') return
  const { top, bottom } = link.getBoundingClientRect()
  if (top < 60) side.scrollTop += top - 60
  if (bottom > innerHeight - 20) side.scrollTop += bottom - innerHeight + 20
}
