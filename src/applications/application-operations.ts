import { listApplications } from './list-applications.ts'
import { revokeApplication } from './revoke-application.ts'

/** Applications are connected at the pages of `http/server/oauth/`. */
export const applicationOperations = [listApplications, revokeApplication] as const
