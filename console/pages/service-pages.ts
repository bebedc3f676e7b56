// The pages of the service as a whole are loaded together, as the tabs of an agent are.
export { ActivityPage } from './activity/activity-page.tsx'
export { RequestPage } from './activity/request-page.tsx'
export { KeyPage } from './keys/key-page.tsx'
export { KeysPage } from './keys/keys-page.tsx'
export { DeliveryPage } from './webhooks/delivery-page.tsx'
export { WebhookPage } from './webhooks/webhook-page.tsx'
export { WebhooksPage } from './webhooks/webhooks-page.tsx'
