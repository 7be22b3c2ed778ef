/** What every tool answers, and the definitions of the tools for a model. */
import type { UiExtra } from './diff';
import type { ToolError } from './errors';

/** `D` is what `details` holds: see ReadDetails and EditDetails. */
export interface ToolResult<D = Record<string, unknown>> {
  status: 'success' | 'error';
  /** Exactly the text for the model. */
  output: string;
  error: ToolError | null;
  ui_extra: UiExtra | null;
  details: D;
  /** What a model gets beside the text; absent where there is nothing. */
  attachments?: Attachment[];
}

export interface Attachment {
  type: 'image';
  mime_type: string;
  /** Base64. */
  data: string;
  /** Pixels, like `height`. */
  width: number;
  height: number;
}

export interface ToolsParams {
  /** Names of tools; the others are left out of the guidelines too. */
  enabled?: string[];
  /** Names of the client's own tools, which `ToolsResult.guidelines` may then mention. */
  other_tools?: string[];
}

export interface ToolDefinition {
  name: string;
  method: string;
  label: string;
  description: string;
  input_schema: Record<string, unknown>;
  prompt_snippet: string;
  prompt_guidelines: string[];
  /** "file", "pencil" or "terminal". */
  icon: string;
}

export interface ToolsResult {
  tools: ToolDefinition[];
  /** Lines for the system prompt that belong to no single tool. */
  guidelines: string[];
}
