import { useState } from 'preact/hooks'
import type { Price } from '../../../../sdk/client.ts'
import { closeDialog, openDialog, openedDialog } from '../../../lib/open-dialog.ts'
import { pageQuery } from '../../../lib/page-query.ts'
import { useResource } from '../../../lib/resource.ts'
import { service } from '../../../lib/service.ts'
import { may } from '../../../lib/session-state.ts'
import { countText, usdText } from '../../../lib/text/format.ts'
import { toast } from '../../../lib/toasts.ts'
import { Button } from '../../../ui/button.tsx'
import { List } from '../../../ui/data/list.tsx'
import type { Column } from '../../../ui/data/table.tsx'
import { Confirm } from '../../../ui/dialogs/confirm.tsx'
import { Empty } from '../../../ui/empty.tsx'
import { Page } from '../../../ui/page.tsx'
import { UsageTabs } from '../usage-tabs.tsx'
import { isOwn, maySetPrices, PriceDialog, partsOf } from './price-dialog.tsx'

type OpenDialog = { what: 'set' | 'delete'; price: Price }

/** The models' prices, and where each price comes from. */
export function PricesPage() {
  const [doing, setDoing] = useState<OpenDialog>()
  const query = pageQuery(25, 'model')
  const prices = useResource(`prices ${JSON.stringify(query)}`, (signal) =>
    service.prices.list(query as { sort: 'model' }, { signal }),
  )
  const close = () => {
    setDoing(undefined)
    closeDialog()
  }
  const isNew = openedDialog() === 'price' && maySetPrices()
  return (
    <Page
      title="Usage"
      windowTitle="Prices"
      api={{ operation: 'listPrices', method: 'prices.list', query }}
      actions={
        maySetPrices() && (
          <Button look="main" icon="plus" onClick={() => openDialog('price')}>
            Set price
          </Button>
        )
      }
    >
      <UsageTabs />
      <div class="filters">
        <span class="hint">
          Prices are in USD, per million tokens or per request. Prices in moorage.yaml override those set here.
        </span>
      </div>
      <List
        of={prices}
        label="Prices"
        columns={columnsOf(setDoing)}
        keyOf={({ model }) => model}
        sort={query.sort}
        empty={<NoPrices />}
      />
      {(isNew || doing?.what === 'set') && (
        <PriceDialog
          key={doing?.price.model}
          model={doing?.price.model}
          price={doing?.price}
          onClose={close}
          onSaved={prices.reload}
        />
      )}
      {doing?.what === 'delete' && <DeletePrice price={doing.price} onClose={close} onDone={prices.reload} />}
    </Page>
  )
}

function NoPrices() {
  return (
    <Empty title="No models yet">
      <p>Models that your agents use appear here with their prices.</p>
    </Empty>
  )
}

function rateColumn(
  title: string,
  rate: keyof Price & ('input' | 'output' | 'cached_input' | 'cache_write' | 'reasoning' | 'request'),
) {
  return { title, isNumber: true, cell: (price: Price) => (price[rate] === null ? '–' : usdText(price[rate])) }
}

const columnsOf = (setDoing: (doing: OpenDialog) => void): Column<Price>[] => [
  { title: 'Model', sort: 'model', cell: ({ model }) => <code class="breaks">{model}</code> },
  rateColumn('Input', 'input'),
  { ...rateColumn('Cached', 'cached_input'), isExtra: true },
  { ...rateColumn('Cache write', 'cache_write'), isExtra: true },
  rateColumn('Output', 'output'),
  { ...rateColumn('Reasoning', 'reasoning'), isExtra: true },
  { ...rateColumn('Request', 'request'), isExtra: true },
  { title: 'From', cell: (price) => <Source price={price} /> },
  {
    title: '',
    isNumber: true,
    cell: (price) => (
      <span class="cell-actions">
        {maySetPrices() && price.source !== 'configuration' && (
          <Button
            look="quiet"
            icon="edit"
            label={`${price.source === 'unknown' ? 'Set' : 'Change'} price of ${price.model}`}
            onClick={() => setDoing({ what: 'set', price })}
          />
        )}
        {maySetPrices() && may('deletePrice') && isOwn(price) && (
          <Button
            look="quiet"
            icon="close"
            label={`Delete price of ${price.model}`}
            onClick={() => setDoing({ what: 'delete', price })}
          />
        )}
      </span>
    ),
  },
]

const SOURCES: Record<Price['source'], string> = {
  configuration: 'moorage.yaml',
  api: 'this project',
  'genai-prices': 'public list',
  builtin: 'built in',
  unknown: 'no price',
}

function Source({ price: { model, source, set_for, version, tiers } }: { price: Price }) {
  const above = tiers[0]?.above
  return (
    <>
      {SOURCES[source]} {version}
      {set_for !== null && set_for !== model && <span class="soft"> · {set_for}</span>}
      {above !== undefined && <span class="soft"> · costs more above {countText(above)} input tokens</span>}
    </>
  )
}

type DeleteProps = { price: Price; onClose(): void; onDone(): void }

function DeletePrice({ price: { model }, onClose, onDone }: DeleteProps) {
  return (
    <Confirm
      title="Delete price"
      action="Delete price"
      isDanger
      onClose={onClose}
      work={async () => {
        await service.prices.delete(...partsOf(model))
        toast(`Price of ${model} deleted`)
        onDone()
      }}
    >
      <p>
        From now on, calls to <code>{model}</code> use the price that is set for all models of the provider, or the
        public list's price. If neither has a price, the cost is unknown.
      </p>
    </Confirm>
  )
}
