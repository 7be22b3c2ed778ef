// Replaces ms-python.python, which only the Marketplace has: the part of its API that finds an interpreter.
const vscode = require('vscode');

exports.activate = () => {
  const changed = new vscode.EventEmitter();
  const chosen = () => process.env.FILEOPS_PYTHON ?? '';
  return {
    environments: {
      getActiveEnvironmentPath: () => ({ id: chosen(), path: chosen() }),
      onDidChangeActiveEnvironmentPath: changed.event,
      resolveEnvironment: async ({ id, path }) => path ? { id, path, executable: { uri: vscode.Uri.file(path) } } : undefined,
    },
  };
};
