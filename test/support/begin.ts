// The first import of every process that runs tests.
import { limitTime } from './time-limit.ts'

limitTime()
