/** The next shared daemon after one that was stopped: noticed by a watch on the folder of the socket, which costs nothing meanwhile. */
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Which socket has this name now, as that of the next daemon may have the same; undefined without one. */
export function socketNamed(name: string): string | undefined {
  const status = fs.lstatSync(name, { throwIfNoEntry: false });
  return status && `${status.ino} ${status.mtimeMs}`;
}

/**
 * Calls `appeared` once, when the name leads to another socket than `last`, the one of the daemon that ended. Returns
 * what ends the watch.
 */
export function watchForNext(name: string, last: string | undefined, appeared: () => void, failed: (error: Error) => void): () => void {
  const watcher = fs.watch(path.dirname(name), { persistent: false });
  const look = (): void => {
    const now = socketNamed(name);
    if (now === undefined || now === last) return;
    watcher.close();
    appeared();
  };
  watcher.on('change', look).on('error', failed);
  setImmediate(look); // a daemon may have started before the watch
  return () => watcher.close();
}
