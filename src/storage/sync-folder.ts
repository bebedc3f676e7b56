import { open } from 'node:fs/promises'

/** After a crash a file is found only if its folder was synced too. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows syncs folders by itself, and doesn't open them.
  if (process.platform === 'win32') return
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}
