import { createLink } from './create-chat-link.ts'
import { deleteLink } from './delete-chat-link.ts'
import { getLink } from './get-chat-link.ts'
import { listLinks } from './list-chat-links.ts'

/** Visitors have no key: their requests are those of `http/dialects/visitor/`. */
export const linkOperations = [createLink, listLinks, getLink, deleteLink] as const
