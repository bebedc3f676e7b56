// Puts a chat on a page: <script src="https://…/chat/widget.js" data-chat="https://…/chat/TOKEN" async></script>
// It loads the chat when someone opens it, in a frame of the service, so the page around it reads nothing of it.

const STYLE = `
:host { all: initial; position: fixed; z-index: 2147483000; inset: auto 16px 16px auto; font: 16px system-ui, sans-serif; }
:host([data-side="left"]) { inset: auto auto 16px 16px; }
button { min-height: 48px; padding: 0 20px; border: 0; border-radius: 24px; font: inherit; font-weight: 600; cursor: pointer;
  color: #fff; background: #0b6e6e; box-shadow: 0 4px 16px rgb(0 0 0 / 0.25); }
button:focus-visible { outline: 3px solid #fff; outline-offset: -6px; }
.panel { position: fixed; inset: auto 16px 80px auto; width: min(400px, calc(100vw - 32px)); height: min(640px, calc(100dvh - 112px));
  border-radius: 12px; overflow: hidden; background: Canvas; box-shadow: 0 8px 40px rgb(0 0 0 / 0.3); }
:host([data-side="left"]) .panel { inset: auto auto 80px 16px; }
.panel[hidden] { display: none; }
iframe { width: 100%; height: 100%; border: 0; }
@media (max-width: 480px) { .panel, :host([data-side="left"]) .panel { inset: 0 0 80px 0; width: 100%; height: auto; border-radius: 0; } }
`

const script = document.currentScript
const { chat = '', label = 'Chat', side = 'right' } = script instanceof HTMLScriptElement ? script.dataset : {}
const address = chat === '' || !(script instanceof HTMLScriptElement) ? undefined : new URL(chat, script.src)

function open({ href, origin }: URL): void {
  const host = document.createElement('div')
  host.dataset['side'] = side
  const root = host.attachShadow({ mode: 'open' })
  // A sheet made by script is allowed by every policy for styles.
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(STYLE)
  root.adoptedStyleSheets = [sheet]
  const panel = document.createElement('div')
  panel.className = 'panel'
  panel.id = 'panel'
  panel.hidden = true
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = label
  button.setAttribute('aria-controls', 'panel')
  let frame: HTMLIFrameElement | undefined

  const show = (isOpen: boolean) => {
    if (isOpen && !frame) {
      frame = document.createElement('iframe')
      frame.src = href
      frame.title = label
      frame.referrerPolicy = 'no-referrer'
      panel.append(frame)
    }
    panel.hidden = !isOpen
    button.textContent = isOpen ? 'Close' : label
    button.setAttribute('aria-expanded', String(isOpen))
    if (isOpen) frame?.focus()
    else button.focus()
  }
  button.setAttribute('aria-expanded', 'false')
  button.addEventListener('click', () => show(panel.hidden !== false))
  addEventListener('message', (event) => {
    const isChat = event.origin === origin && event.source !== null && event.source === frame?.contentWindow
    if (isChat && event.data === 'moorage-chat-close') show(false)
  })
  panel.addEventListener('keydown', ({ key }) => key === 'Escape' && show(false))
  root.append(panel, button)
  document.body.append(host)
}

if (address && /^https?:$/.test(address.protocol)) {
  if (document.body) open(address)
  else addEventListener('DOMContentLoaded', () => open(address))
}
