// If the reader is signed in to the console, each operation that the key may call gets a form that sends the request.
const base = new URL('.', location.href)
// The console links here with the project that is open.
const project = new URLSearchParams(location.search).get('project')
const HEADERS = {
  'X-Moorage-Console': '1',
  Accept: 'application/json',
  ...(project && { 'Moorage-Project': project }),
}

const { data: session } = await (await fetch(new URL('console/session', base), { headers: HEADERS })).json()
if (session?.signed_in) for (const id of session.features) addForm(document.getElementById(id))

function addForm(article) {
  if (!article) return
  const { method, path, body } = article.dataset
  const form = element('form', 'send')
  const target = element('input')
  target.value = path
  target.setAttribute('aria-label', 'Path and query')
  const button = element('button')
  button.textContent = 'Send'
  const line = element('div', 'line')
  const verb = element('b', `method ${method}`)
  verb.textContent = method
  line.append(verb, target, button)
  form.append(line)
  const text = body && element('textarea')
  if (text) {
    text.value = body
    text.rows = Math.min(12, body.split('\n').length)
    text.setAttribute('aria-label', 'Body')
    form.append(text)
  }
  const answer = element('pre', 'sample answer')
  answer.tabIndex = 0
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    button.disabled = true
    answer.textContent = await send(method, target.value, text?.value)
    button.disabled = false
    form.append(answer)
  })
  article.querySelector('.samples').prepend(form)
}

/** The reply as text: the status, the time it took, the request ID and the body. */
async function send(method, path, body) {
  const started = performance.now()
  const headers = { ...HEADERS, ...(body !== undefined && { 'Content-Type': 'application/json' }) }
  try {
    const url = new URL(path.replace(/^\//, ''), base)
    if (url.origin !== base.origin) return 'The path must be one of this service.'
    const reply = await fetch(url, { method, headers, ...(body !== undefined && { body }) })
    const took = Math.round(performance.now() - started)
    const facts = `${reply.status} · ${took} ms · ${reply.headers.get('x-request-id')}`
    return `${facts}\n\n${readable(await reply.text())}`
  } catch (error) {
    return `No answer: ${error.message}`
  }
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function element(name, className = '') {
  const made = document.createElement(name)
  made.className = className
  return made
}
