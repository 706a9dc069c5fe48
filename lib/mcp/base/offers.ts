import type { PromptMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Tool, ToolDeps } from '../../tools/tool.ts';

/** A resource at a fixed address, with JSON content. */
export interface Resource {
  uri: string;
  name: string;
  title: string;
  description: string;
  /** Throws AppError with a message that a client may read. */
  read(deps: ToolDeps, signal: AbortSignal): Promise<object>;
}

/** A prompt without arguments. */
export interface Prompt {
  name: string;
  title: string;
  description: string;
  /** Throws AppError with a message that a client may read. */
  write(deps: ToolDeps, signal: AbortSignal): Promise<PromptMessage[]>;
}

/** Everything that a server offers. It is loaded on first use, because a handshake needs none of it. */
export interface Catalogue {
  tools: readonly Tool[];
  resources: readonly Resource[];
  prompts: readonly Prompt[];
}

/** Loads a catalogue. */
export type LoadCatalogue = () => Promise<Catalogue>;
