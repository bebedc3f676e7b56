import { useState } from 'preact/hooks'
import { Snippet } from '../../ui/copy.tsx'
import { Segments } from '../../ui/forms/field.tsx'

const SNIPPETS: Record<string, string> = {
  TypeScript: `import { verifyWebhook } from 'moorage-sdk'

// \`body\` is the raw bytes. verifyWebhook throws if the signature is wrong.
const event = await verifyWebhook({ body, headers: request.headers, secret: process.env.WEBHOOK_SECRET })`,
  Python: `from standardwebhooks import Webhook  # pip install standardwebhooks

event = Webhook(os.environ["WEBHOOK_SECRET"]).verify(request.body, request.headers)`,
  Go: `import standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

wh, _ := standardwebhooks.NewWebhook(os.Getenv("WEBHOOK_SECRET"))
err := wh.Verify(body, request.Header)`,
}

/** Code with which a receiver verifies that an event came from this service. */
export function Verification({ secret_hint }: { secret_hint: string }) {
  const [language, setLanguage] = useState('TypeScript')
  return (
    <details class="verification">
      <summary>Verify the signature in your receiver</summary>
      <div class="stack">
        <p class="hint">
          The secret is <code>{secret_hint}</code>. If the check fails, return 401 and do nothing else.
        </p>
        <Segments
          label="Language"
          value={language}
          choices={Object.keys(SNIPPETS).map((name) => ({ value: name, label: name }))}
          onChange={setLanguage}
        />
        <Snippet label="code" text={SNIPPETS[language] ?? ''} />
      </div>
    </details>
  )
}
