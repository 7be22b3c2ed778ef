// Stands in for ms-python.python, which only the Marketplace has: the part of its API that finds an interpreter.
const vscode = require('vscode');

exports.activate = () => {
  const changed = new vscode.EventEmitter();
  const path = process.env.FILEOPS_PYTHON;
  return {
    environments: {
      getActiveEnvironmentPath: () => ({ id: path, path }),
      onDidChangeActiveEnvironmentPath: changed.event,
      resolveEnvironment: async environment => ({ id: environment.id, path: environment.path, executable: { uri: vscode.Uri.file(environment.path) } }),
    },
  };
};
