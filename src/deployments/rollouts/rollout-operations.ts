import { abortDeployment } from './abort-deployment.ts'
import { pauseDeployment } from './pause-deployment.ts'
import { promoteDeployment } from './promote-deployment.ts'
import { resumeDeployment } from './resume-deployment.ts'

export const rolloutOperations = [promoteDeployment, pauseDeployment, resumeDeployment, abortDeployment]
