// Where things are, for the programs here.
import os from 'node:os';
import path from 'node:path';

export const HERE = import.meta.dirname;
export const EXTENSION = path.resolve(HERE, '../../../clients/vscode');
/** Where install.sh puts the editors. */
export const EDITORS = path.join(process.env.FILEOPS_EDITORS ?? path.join(os.homedir(), '.cache/fileops-editors'), 'vscode');
