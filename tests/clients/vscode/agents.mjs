// Agents of a story: calls of the extension in agent/, which uses the exported API of Fileops.
import path from 'node:path';
import { PATIENCE_MS } from './workbench.mjs';

/** port: of the extension in agent/ (FILEOPS_AGENT_PORT). */
export function agentsAt(port, workspace) {
  const file = basename => path.join(workspace, basename);

  /** One call of an agent; `.cancel()` takes it back. kill: a daemon that is killed just before. */
  function agent(session, method, params = {}, kill = undefined) {
    const abort = new AbortController();
    const answer = fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: JSON.stringify({ session, method, params, kill }), signal: AbortSignal.any([abort.signal, AbortSignal.timeout(PATIENCE_MS)]) })
      .then(response => response.json())
      .then(({ result, error }) => {
        if (error) throw new Error(`${method}: ${error.message}`);
        return result;
      });
    answer.catch(() => undefined);
    return Object.assign(answer, { cancel: () => abort.abort() });
  }
  const edit = (session, basename, old_string, new_string) => agent(session, 'edit', { file_path: file(basename), old_string, new_string });
  const read = (session, basename) => agent(session, 'read', { file_path: file(basename) });
  return { agent, edit, read, file };
}
