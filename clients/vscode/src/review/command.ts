/**
 * A shell command for a person to decide: a pane that shows all of it, where it would run and the purpose that the
 * agent gives, and the answer to send. Knows nothing of the queue.
 */
import type { ConfirmCommandParams, ConfirmCommandResult } from '../protocol';
import { type DiffPanes, type Pane, REVIEW_SCHEME } from '../ui/diff';
import { inOneLine, ownName } from '../ui/labels';

/** Its name selects the language `fileops-command`: coloured as shell, wrapped, with nothing invisible. */
const FILE_NAME = 'command.fileops-command';

export class CommandReview {
  readonly kind = 'command';
  readonly pane: Pane;

  constructor(
    readonly id: number,
    readonly params: ConfirmCommandParams,
    readonly answer: (result: ConfirmCommandResult) => void,
    panes: DiffPanes,
  ) {
    this.pane = panes.createText({
      scheme: REVIEW_SCHEME, filePath: FILE_NAME, title: `${this.agent}: command waits for you`, text: textOf(params),
    });
  }

  get name(): string {
    return inOneLine(this.params.command);
  }

  get agent(): string {
    return ownName(this.params.session_id);
  }

  get title(): string {
    return `Run ${this.name}`;
  }

  get place(): string {
    return this.params.cwd;
  }

  /** The agent's answer. always: do not ask again about this very command in this folder and session. */
  result(outcome: 'accept' | 'always' | 'reject'): ConfirmCommandResult {
    return { outcome: ({ accept: 'proceed_once', always: 'proceed_always', reject: 'cancel' } as const)[outcome] };
  }
}

/** Comments, then the command unchanged; nothing in the comments can end a comment. */
function textOf({ command, cwd, session_id, description }: ConfirmCommandParams): string {
  const comment = (label: string, text: string): string =>
    text.trim().split(/\r\n|[\r\n\u2028\u2029]/).map((line, i) => `# ${i === 0 ? label : ' '.repeat(label.length)}${line}\n`).join('');
  return comment('', `${ownName(session_id)} wants to run this command.`)
    + comment('in   ', cwd) + comment('why  ', description?.trim() ? description : 'the agent does not say') + `\n${command}\n`;
}
