// node fields.mjs FILE: checks golden messages against the types of the extension; FILE holds
// [{name, type, message}], type an interface of protocol.ts. Prints the compiler's complaints, one a line; the exit code says whether there were any.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { EXTENSION } from './paths.mjs';

const ts = createRequire(EXTENSION + '/')('typescript');
const options = { strict: true, noEmit: true, target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts'], skipLibCheck: true, module: ts.ModuleKind.Node16, moduleResolution: ts.ModuleResolutionKind.Node16, types: [], exactOptionalPropertyTypes: true };

/** The compiler decodes: a literal with a missing, a wrong or an unknown key is an error. */
function complaints(messages) {
  const name = path.join(EXTENSION, 'src/__golden__.ts');
  const lines = messages.map(({ type, message }, i) => `export const m${i}: P.${type} = ${JSON.stringify(message)};`);
  const text = [`import type * as P from './protocol';`, ...lines].join('\n');
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.getSourceFile = (file, ...rest) => (file === name ? ts.createSourceFile(file, text, options.target) : getSourceFile.call(host, file, ...rest));
  host.fileExists = file => file === name || fileExists.call(host, file);
  const program = ts.createProgram([name], options, host);
  return ts.getPreEmitDiagnostics(program).map(diagnostic => {
    const line = diagnostic.file?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0;
    return `${messages[line - 1]?.name ?? '?'}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')}`;
  });
}

const found = complaints(JSON.parse(fs.readFileSync(process.argv[2], 'utf8')));
for (const line of found) console.log(line);
process.exitCode = found.length > 0 ? 1 : 0;
