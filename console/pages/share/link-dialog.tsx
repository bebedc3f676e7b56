import type { Agent, Link } from '../../../sdk/client.ts'
import { useAction } from '../../lib/resource.ts'
import { service } from '../../lib/service.ts'
import { may } from '../../lib/session-state.ts'
import { exactText } from '../../lib/text/format.ts'
import { toast } from '../../lib/toasts.ts'
import { Button } from '../../ui/button.tsx'
import { Id, Snippet } from '../../ui/copy.tsx'
import { Facts } from '../../ui/data/facts.tsx'
import { WhoIs } from '../../ui/data/who.tsx'
import { Dialog, DialogActions } from '../../ui/dialogs/dialog.tsx'
import { Failure } from '../../ui/failure.tsx'

type Props = { agent: Agent; link: Link; onClose(): void; onDeleted(): void }

/** One link: its URL, how to put it on a page, its limits. */
export function LinkDialog({ agent, link, onClose, onDeleted }: Props) {
  const remove = useAction(async () => {
    await service.links.delete(agent.id, link.id)
    toast('Link deleted')
    onDeleted()
  })
  const url = link.url === null ? undefined : new URL(link.url, location.origin).href
  const { limits, used, warnings = [] } = link
  return (
    <Dialog title={link.name ?? agent.name} onClose={onClose} isWide>
      <div class="stack">
        {warnings.length > 0 && (
          <ul class="warnings">
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        )}
        {url === undefined ? (
          <p class="soft">Your role doesn't include sending messages, so you can't see the URL.</p>
        ) : (
          <>
            <p>Anyone with this URL can chat with the agent:</p>
            <Snippet label="URL" text={url} />
            {link.origins.length > 0 && (
              <>
                <p>To show the chat on a page of {link.origins.join(', ')}, add this to the page:</p>
                <Snippet label="script for your page" text={scriptFor(url)} />
              </>
            )}
          </>
        )}
        <Facts
          of={{
            Environment: link.environment,
            Visitors: used.visitors,
            Messages: used.messages,
            'Messages per visitor': limits.messages_per_visitor ?? 'no limit',
            'Cost (US$)': limits.cost_usd === null ? 'no limit' : `${used.cost_usd ?? 0} of ${limits.cost_usd}`,
            Expires: link.expires_at === null ? 'never' : exactText(link.expires_at),
            'Created by': <WhoIs id={link.created_by} />,
            ID: <Id id={link.id} />,
          }}
        />
        <Failure error={remove.error} />
        <DialogActions>
          {may('deleteLink') && (
            <Button look="danger" doing={remove}>
              Delete
            </Button>
          )}
          {url !== undefined && (
            <Button look="main" onClick={() => window.open(url, '_blank', 'noopener')}>
              Open chat
            </Button>
          )}
        </DialogActions>
      </div>
    </Dialog>
  )
}

function scriptFor(url: string): string {
  const folder = url.slice(0, url.lastIndexOf('/'))
  return `<script src="${folder}/widget.js" data-chat="${url}" async></script>`
}
