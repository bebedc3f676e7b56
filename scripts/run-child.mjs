import { spawn } from 'node:child_process'
import { isatty } from 'node:tty'

/** Runs a command and resolves with how it ended. Signals are passed on to it, so that it does not outlive us. */
export async function runChild(command, args, options) {
  const child = spawn(command, args, options)
  // A terminal sends Ctrl-C to the child itself. A second one would mean "at once".
  const forward = (signal) => {
    if (signal !== 'SIGINT' || !isatty(0)) child.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, forward)
  const ended = await new Promise((resolve) => {
    child.on('error', (error) => resolve({ error }))
    child.on('exit', (code, signal) => resolve({ code, signal }))
  })
  for (const signal of signals) process.off(signal, forward)
  return ended
}
