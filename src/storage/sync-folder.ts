import { open } from 'node:fs/promises'

/** Syncs a folder. After a crash, a file is found only if its folder was synced too. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows syncs folders by itself, and they can't be opened there.
  if (process.platform === 'win32') return
  const handle = await open(folder)
  await handle.sync().finally(() => handle.close())
}
